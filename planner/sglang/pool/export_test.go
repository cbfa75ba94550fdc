package pool

// FirstStageAt is At for the first pipeline stage alone, as the vectors of
// pipeline launches were made.
func (s *Sizer) FirstStageAt(f, preGiB, availGiB float64) Result {
	one := *s
	one.stages, one.tight = s.stages[:1], 0
	return one.At(f, preGiB, availGiB)
}

// FirstStageCell is the cell of that stage.
func (s *Sizer) FirstStageCell() float64 { return s.stages[0].solver.cellBytes() }
