package args

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sglplan/sglplan/planner/finding"
)

const configFlag = "--config"

// Codes of the file that --config names.
var (
	CodeConfigUse = finding.Define("config-file-use",
		"--config is used in a way that SGLang refuses",
		"--config is a word of its own, once, followed by a file whose name ends in .yaml or .yml.",
		"Write --config FILE.yaml once.")
	CodeConfigInert = finding.Define("config-file-not-read-by-sglang",
		"SGLang does not read this config file",
		"The file is read only when --config is a word of its own and in full: --config=FILE and abbreviations are parsed as an ordinary option that nothing looks at.",
		"Write --config FILE.yaml as two words.")
	CodeConfigMissing = finding.Define("config-file-missing",
		"the config file is not there",
		"SGLang stops when the file that --config names does not exist.",
		"Name an existing file; paths are relative to the folder the launch runs in.")
	CodeConfigUnread = finding.Define("config-file-unknown",
		"the config file could not be read here",
		"What the file sets is not part of this plan.",
		"Run sglplan where the file is, or put its values on the command line.")
	CodeConfigInvalid = finding.Define("config-file-invalid",
		"the config file cannot be used",
		"SGLang reads the file with a YAML 1.1 reader that allows plain values only, and wants a mapping at its root.",
		"Correct the file.")
	CodeConfigKey = finding.Define("config-key-unsupported",
		"the config file sets a flag that it may not set",
		"The reader of the config file knows plain switches and flags with values. Deprecated flags, switches with a --no- form and --lora-paths stop it, and in 0.5.14 to 0.5.22 so does a flag that shares its setting with a deprecated spelling.",
		"Give that flag on the command line.")
)

// mergeConfig does what SGLang does with --config before its parser runs
// (server_args_config_parser.py, from 0.5.3): the keys of the file become words
// in front of all others, so that the command line wins.
func (p *parser) mergeConfig(list []word, readFile func(string) ([]byte, error)) []word {
	if find(configFlag, p.at) == nil {
		return list
	}
	i := slices.IndexFunc(list, func(w word) bool { return w.text == configFlag })
	if i < 0 {
		return list
	}
	head := list[i]
	if i == len(list)-1 {
		p.say(finding.New(CodeConfigUse, finding.Error, configFlag, "No file follows --config."), head)
		return list[:i]
	}
	file := list[i+1]
	rest := append(slices.Clone(list[:i]), list[i+2:]...)
	if slices.ContainsFunc(rest, func(w word) bool { return w.text == configFlag }) {
		p.say(finding.New(CodeConfigUse, finding.Error, configFlag, "--config is given more than once; only one file is allowed."), head)
		return slices.DeleteFunc(rest, func(w word) bool { return w.text == configFlag })
	}
	if file.text == "" && !file.unknown {
		return list
	}
	return append(p.readConfig(file, readFile), rest...)
}

// inertConfig warns of a --config that reached the parser: nothing reads it.
func (p *parser) inertConfig(it item) {
	if len(it.values) == 0 || it.values[0].text == "" {
		return
	}
	file := it.values[0].text
	p.say(finding.New(CodeConfigInert, finding.Warning, configFlag,
		fmt.Sprintf("SGLang reads no file for %s: nothing in %s counts.", quoteText(it.head.text), quoteText(file))).
		With("write --config as a word of its own", finding.Edit{Flag: configFlag, Value: file}), it.head)
}

func (p *parser) readConfig(file word, readFile func(string) ([]byte, error)) []word {
	if file.unknown {
		p.say(finding.New(CodeConfigUnread, finding.Warning, configFlag,
			fmt.Sprintf("The name of the file, %s, is known only when the command runs.", quoteText(file.text))), file)
		return nil
	}
	switch strings.ToLower(path.Ext(file.text)) {
	case ".yaml", ".yml":
	default:
		p.say(finding.New(CodeConfigUse, finding.Error, configFlag,
			fmt.Sprintf("%s does not end in .yaml or .yml.", quoteText(file.text))), file)
		return nil
	}
	if readFile == nil {
		readFile = func(string) ([]byte, error) { return nil, errors.New("reading files is off") }
	}
	data, err := readFile(file.text)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.say(finding.New(CodeConfigMissing, finding.Error, configFlag, fmt.Sprintf("%s does not exist.", quoteText(file.text))), file)
		return nil
	case err != nil:
		p.say(finding.New(CodeConfigUnread, finding.Warning, configFlag, fmt.Sprintf("%s: %v.", quoteText(file.text), err)), file)
		return nil
	}
	m, err := readYAML(data)
	if err != nil {
		p.say(finding.New(CodeConfigInvalid, finding.Error, configFlag, fmt.Sprintf("%s: %v.", quoteText(file.text), err)), file)
		return nil
	}
	return p.configWords(file, m)
}

// configWords writes the mapping as command line words.
func (p *parser) configWords(file word, m pyDict) []word {
	var out []word
	c := p.configKeys()
	for _, e := range m {
		w := file
		w.from = FromConfig
		w.pos.File, w.pos.Line = file.text, e.line
		key, ok := e.key.(string)
		if !ok {
			p.say(finding.New(CodeConfigInvalid, finding.Error, configFlag, fmt.Sprintf("The key %s is not text.", pyRepr(e.key))), w)
			continue
		}
		norm := strings.ReplaceAll(key, "-", "_")
		if why := c.refused[norm]; why != "" {
			p.say(finding.New(CodeConfigKey, finding.Error, why,
				fmt.Sprintf("SGLang %s does not take %q from a config file.", p.release, key)), w)
			continue
		}
		for _, text := range p.keyTexts(key, e.value, c.switches[norm]) {
			w.text = text
			out = append(out, w)
		}
	}
	return out
}

// keyTexts are the words of one key: nothing for a false switch or an empty
// list, --key for a true switch, --key value(s) otherwise.
func (p *parser) keyTexts(key string, value any, isSwitch bool) []string {
	flag := "--" + key
	switch v := value.(type) {
	case bool:
		// To 0.5.7 every boolean is treated as a switch.
		if isSwitch || p.release.Before("0.5.8") {
			if !v {
				return nil
			}
			return []string{flag}
		}
		return []string{flag, strings.ToLower(pyStr(v))}
	case []any:
		if len(v) == 0 {
			return nil
		}
		out := []string{flag}
		for _, x := range v {
			out = append(out, pyStr(x))
		}
		return out
	case pyDict:
		if p.release.AtLeast("0.5.14") {
			return []string{flag, pyJSON(v)}
		}
	}
	return []string{flag, pyStr(value)}
}

// configKeys tells the keys (with underscores) of plain switches, and those
// that the reader refuses with the flag they are about.
type configKeys struct {
	switches map[string]bool
	refused  map[string]string
}

func (p *parser) configKeys() configKeys {
	c := configKeys{map[string]bool{}, map[string]string{}}
	if p.release.Before("0.5.8") {
		return c
	}
	anySpelling := p.release.AtLeast("0.5.23")
	supported := map[string]bool{}
	for i := range spans {
		s := &spans[i]
		if !s.covers(p.at) || s.act == actHelp {
			continue
		}
		keys := []string{s.field}
		if anySpelling {
			keys = append(keys, s.keys()...)
		}
		ok := s.act == actStore || s.act == actStoreTrue || anySpelling && s.nargs == 0
		for _, k := range keys {
			switch {
			case s.act == actStoreTrue:
				c.switches[k], supported[k] = true, true
			case ok:
				supported[k] = true
			default:
				c.refused[k] = s.name
			}
		}
	}
	if anySpelling { // a key that a supported flag also reads stays usable
		for k := range supported {
			delete(c.refused, k)
		}
	}
	return c
}

// keys are the spellings of a span as keys with underscores.
func (s *span) keys() []string {
	var out []string
	for _, t := range append([]string{s.name}, s.more...) {
		if name, long := strings.CutPrefix(t, "--"); long {
			out = append(out, strings.ReplaceAll(name, "-", "_"))
		}
	}
	return out
}
