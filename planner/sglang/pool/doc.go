// Package pool computes, before a launch, the memory pools that a release of
// SGLang will make on a GPU: how many KV tokens, how they split into full and
// sliding-window pools, how many slots of recurrent state, how many requests,
// and the bytes of each as allocated.
//
// New does everything that does not depend on memory; At then evaluates one
// mem_fraction_static with the same float64 and integer steps as the release,
// without allocating. What differs between releases is one condition beside
// the rule it changes, with SGLang's own name for it.
package pool
