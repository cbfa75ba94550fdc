// Command sbom prints the bill of materials of a built command as CycloneDX
// JSON: the modules that its own build information lists, nothing else. The
// same binary gives the same text, so it has neither a time nor a serial
// number.
//
//	go run ./packaging/sbom BINARY VERSION
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY VERSION")
		os.Exit(2)
	}
	if err := run(os.Stdout, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// bom is CycloneDX 1.5, the parts that are known.
type bom struct {
	BOMFormat   string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func run(w io.Writer, binary, version string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	main := moduleOf(info.Main.Path, version)
	main.Type = "application"
	main.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	main.Properties = settings(info)
	out := bom{BOMFormat: "CycloneDX", SpecVersion: "1.5", Version: 1, Metadata: metadata{main}}
	out.Components = append(out.Components, component{
		Type: "library", Ref: "pkg:golang/std@" + info.GoVersion, Name: "std", Version: info.GoVersion,
		PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	})
	for _, d := range info.Deps {
		out.Components = append(out.Components, dependency(d))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func moduleOf(path, version string) component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", path, version)
	return component{Type: "library", Ref: purl, Name: path, Version: version, PURL: purl}
}

// dependency carries the module's sum, which is the hash that the checksum
// database of Go holds: of the list of its files, not of an archive, so it is a
// property.
func dependency(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	c := moduleOf(m.Path, m.Version)
	if raw, ok := strings.CutPrefix(m.Sum, "h1:"); ok {
		if _, err := base64.StdEncoding.DecodeString(raw); err == nil {
			c.Properties = []property{{"golang:module:sum", m.Sum}}
		}
	}
	return c
}

// settings are what of the build changes the code.
func settings(info *buildinfo.BuildInfo) []property {
	var out []property
	for _, s := range info.Settings {
		switch s.Key {
		case "CGO_ENABLED", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "-tags":
			out = append(out, property{"golang:build:" + s.Key, s.Value})
		}
	}
	return out
}
