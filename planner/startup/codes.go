package startup

import "github.com/sglplan/sglplan/planner/finding"

// What only a watch can see; what the log says has codes in serverlog.
var (
	CodeProcessEnded = finding.Define("start-process-ended",
		"the server's process ended before it was ready",
		"The process that was to be watched is gone or a zombie, and its log does not say why.",
		"Look at the last lines of its log and at `dmesg -T`; run the command in the foreground.")
	CodeStopped = finding.Define("start-stopped",
		"the server was asked to end",
		"SIGTERM came: from systemd, a container runtime, or a person.",
		"Start it anew. Where a new launch appends to the same log, give its --pid, so that the old lines are told apart.")
	CodeNoProcess = finding.Define("start-no-process",
		"there is no such process",
		"The process number that was given does not exist (any more).",
		"Pass the number of the launcher: $! behind a background command, or `systemctl show -P MainPID UNIT`.")
	CodeOOMKilled = finding.Define("start-oom-killed",
		"the kernel's OOM killer struck",
		"The launch took more host memory than the host or its cgroup has. Host pools are pinned near the end of a start, --hicache-size for every rank.",
		"`sglplan check` says which --hicache-size fits; raise the container's memory limit, or stop what else holds memory.")
	CodeRankGone = finding.Define("start-rank-gone",
		"a process of the server is gone while the launcher lives on",
		"The launcher looks after its children every few seconds (0.5.10+) or not at all while it waits in a pipe (before), so such a server can hang for ever.",
		"End it and look at the lines of that rank in the log and at `dmesg -T`.")
	CodeStalled = finding.Define("start-stalled",
		"the start stands still",
		"No line of the log, and no reading of files, has moved the phase on for longer than it ever takes. Ranks that wait for each other in a collective stay alive and busy.",
		"`py-spy dump --pid PID` on a scheduler shows where it waits; look for a rank that is behind the others. A slow disk or a first compilation can need --stall with a longer time.")
	CodeHostLow = finding.Define("start-host-memory-low",
		"host memory will not hold the pools that are being pinned",
		"What the ranks have announced and not yet taken is more than what host and cgroup have available.",
		"End the launch before the kernel does (--kill-on-host-oom does it), then lower --hicache-size as `sglplan check` says.")
	CodeHostGone = finding.Define("start-host-memory-gone",
		"host memory is almost gone while host pools are pinned",
		"Pools are filled and pinned at a few GB a second by every rank; pinned pages cannot be swapped, so the kernel kills when nothing is left.",
		"Lower --hicache-size as `sglplan check` says; a host that swaps or kills now needs the launch ended first.")
	CodeTimeout = finding.Define("start-timeout",
		"the server was not ready in time",
		"Neither success nor a failure was seen until the time given with --timeout was over.",
		"Give --log and --pid, so that a failure is seen at once; raise --timeout where loading takes longer.")
	CodeNotOurs = finding.Define("start-port-of-another",
		"another server answers on this port",
		"The port belongs to a process outside this launch, or the server there has another model. This launch will find its port taken at the end of its start.",
		"Stop the older server, or start with another --port.")
	CodeProxy = finding.Define("start-proxy-answers",
		"something other than SGLang answers on this address",
		"SGLang answers /health with a status and an empty body: no page, no redirect and no question for a key.",
		"Use the server's own address and port, without the proxy; set no_proxy.")
	CodeLogEnded = finding.Define("start-log-ended",
		"the log ended before the server was ready",
		"All writers have closed the pipe, so the launch is gone, and nothing answers on the port.",
		"Look at the last lines; give --pid to know for certain.")
)
