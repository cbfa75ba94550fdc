// Package startup follows the start of an SGLang server as it happens: the
// phases of its log, its processes, its port and the memory it takes; whether
// it is ready, has failed or stands still; and how what it measured compares
// with the plan.
//
// Import it to start SGLang from a Go program:
//
//	for e := range startup.Watch(ctx, startup.Options{URL: url, Log: "server.log", PID: pid}) {
//		fmt.Println(e.Phase, e.Message)
//		if e.Outcome == startup.Ready { ... }
//	}
//
// It reads log files, /proc and the server's own HTTP answers. It sends no
// signal unless KillOnHostOOM asks for it.
package startup
