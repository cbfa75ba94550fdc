// Package endpoints knows what the web server of each SGLang release answers
// while it starts, and where it tells about itself.
package endpoints

import "github.com/sglplan/sglplan/planner/sglang/release"

// Endpoints is what a release offers.
type Endpoints struct {
	// Ready: GET /ready answers 200 when the server takes requests, without
	// generating anything (0.5.20+; before it is 404).
	Ready bool
	// Static: GET /health answers 200 as soon as the port is bound, whatever
	// the engine does (to 0.4.10.post1). /health_generate is the test there.
	Static bool
	// ServerInfo and ModelInfo are the paths of the information, the better
	// one first. From 0.5.6 the get_ forms are deprecated and log a warning.
	ServerInfo, ModelInfo []string
}

// Of returns what a release offers; a release that is not known (the zero
// value) may have either form of the paths.
func Of(r release.Release) Endpoints {
	e := Endpoints{ServerInfo: []string{"/server_info", "/get_server_info"}, ModelInfo: []string{"/model_info", "/get_model_info"}}
	if r.IsZero() {
		return e
	}
	e.Ready = r.AtLeast("0.5.20")
	e.Static = r.Before("0.4.10.post2")
	if r.Before("0.5.6") {
		e.ServerInfo, e.ModelInfo = e.ServerInfo[1:], e.ModelInfo[1:]
	} else {
		e.ServerInfo, e.ModelInfo = e.ServerInfo[:1], e.ModelInfo[:1]
	}
	return e
}
