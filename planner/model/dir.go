package model

import (
	"errors"
	"io/fs"
)

// ReadDir reads the configuration of a checkpoint folder: config.json, and
// hf_quant_config.json where there is one. The first decides on quantisation,
// but the type of the KV cache may stand in the second alone. An error
// is a *ConfigError that wraps the cause (fs.ErrNotExist when there is no
// config.json).
func ReadDir(fsys fs.FS) (*Config, error) {
	top, err := readSection(fsys, "config.json")
	if err != nil {
		return nil, err
	}
	c := &Config{Top: top}
	quant, err := readSection(fsys, "hf_quant_config.json")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	c.Quant = quant
	return c, nil
}

func readSection(fsys fs.FS, name string) (Section, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, &ConfigError{File: name, Err: err}
	}
	defer f.Close()
	s, err := ParseSection(f)
	var ce *ConfigError
	if errors.As(err, &ce) {
		ce.File = name
	}
	return s, err
}
