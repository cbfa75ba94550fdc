package weights

import (
	"maps"
	"slices"
)

// A family builds the modules of an architecture for one rank, in the order of
// SGLang's class.
type family func(*Builder)

// families maps the architectures of config.json (and the names that SGLang
// gives to drafts) to their family. Each family's file adds its own.
var families = map[string]family{}

func register(f family, archs ...string) bool {
	for _, a := range archs {
		families[a] = f
	}
	return true
}

// Architectures returns the covered architectures, sorted.
func Architectures() []string { return slices.Sorted(maps.Keys(families)) }

// Modules builds what one rank holds of a model of that architecture. The
// error is a *ConfigError, a *ShapeError or an *UnknownError.
func (b *Builder) Modules(arch string) ([]Module, error) {
	f, ok := families[arch]
	if !ok {
		return nil, &UnknownError{"architecture", arch}
	}
	b.mods = make([]Module, 0, 1024)
	f(b)
	if b.err != nil {
		return nil, b.err
	}
	return b.mods, nil
}
