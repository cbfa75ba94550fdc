package launch

import "github.com/sglplan/sglplan/planner/finding"

// The findings about how a launch is written down.
var (
	CodeNotKnown = finding.Define("known-only-when-run",
		"a part of the launch is known only when it runs",
		"Command substitutions, positional parameters, variables that nothing in the file sets, values from a ConfigMap, a Secret or an env file, and template expressions depend on where the launch runs. Nothing is run and nothing guessed: the word is left out of the plan, and everything else is judged.",
		"Write the value into the file, or check the launch where the value is set.")
	CodeDefaultTaken = finding.Define("script-default-taken",
		"the script's own default was taken",
		"${NAME:-value} gives the value unless the environment sets NAME. The script does not set it, so its default was planned with.",
		"Set the variable in the script when another value will be used.")
	CodeConditional = finding.Define("conditional-launch",
		"a launch stands under a condition that is known only when it runs",
		"The bodies of if, case and loops whose condition cannot be decided from the script are taken as written; branches that exclude each other are not added up.",
		"Nothing when the branch is the one that will run.")
	CodeSourced = finding.Define("script-sources-file",
		"the script reads another file that was not read",
		"A sourced file can set any variable. Variables that the script itself sets were taken at that value.",
		"Check the launch with the values written into the script.")
	CodeSyntax = finding.Define("file-part-unreadable",
		"a part of the file cannot be read",
		"The part named is no valid YAML, shell or unit text, so launches in it were not checked. The rest of the file was.",
		"Correct the line that is named.")
	CodeTemplate = finding.Define("template-not-rendered",
		"the file holds template expressions",
		"Expressions such as {{ .Values.x }} get their values when the file is rendered. Lines that only steer the template are skipped and values are treated as not known.",
		"Check the rendered output: helm template ... | sglplan check -f -")
	CodeDuplicateKey = finding.Define("duplicate-key",
		"a key stands twice in one mapping",
		"YAML forbids it: docker compose and strict decoders refuse the file, lenient ones keep the last value. The last one was taken here.",
		"Remove one of them.")
	CodeTooLarge = finding.Define("file-too-large",
		"the file is larger than what is read",
		"Files are read up to a bound, and single documents up to a smaller one, so that a hostile file cannot take the machine down.",
		"Check the part with the launch by itself.")
	CodeLimitUnreadable = finding.Define("limit-unreadable",
		"a limit in the file cannot be read",
		"The size or number of a memory limit, a GPU count or a shared memory size makes no sense, so it was not applied.",
		"Correct the value that is named.")
	CodeEntrypoint = finding.Define("entrypoint-assumed",
		"the image's entrypoint was taken for SGLang's launcher",
		"The container gets bare SGLang flags, so the image's own entrypoint must start the server; images are not opened here.",
		"Write the command out: python3 -m sglang.launch_server ...")
	CodeSeveral = finding.Define("several-launches-in-command",
		"the command starts several servers",
		"A shell text can hold more than one launch. Only the first was taken where a single one is expected.",
		"Check them with --script or -f, which judge all of them together.")
	CodeLiteral = finding.Define("not-expanded-there",
		"a variable is written in a form that is not expanded there",
		"Kubernetes replaces $(NAME) in command and args and leaves ${NAME} and $NAME alone; systemd replaces ${NAME} and $NAME. Other forms reach SGLang as they are written unless a tool replaces them before.",
		"Use the form that this file's reader expands, or run the command through sh -c.")
)
