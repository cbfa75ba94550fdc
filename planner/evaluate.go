package planner

// Evaluator returns a function that judges one fraction of a launch; it
// allocates nothing and takes microseconds, for programs that search. It
// returns nil when the launch cannot be planned (Check says why).
func Evaluator(req Request) func(f float64) SweepPoint {
	j := prepare(req)
	if !j.gpu.canPlan() {
		return nil
	}
	return j.gpu.sweepPoint
}
