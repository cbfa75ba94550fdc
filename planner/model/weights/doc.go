// Package weights builds, module by module, what one rank holds of a model's
// weights: the tensors that SGLang's class for the architecture makes of
// config.json, split as the layout says and stored as the quantisation says, in
// the order in which they are made. A Replay passes them through the caching
// allocator's rules, which is what loading takes from the card.
//
// It knows model classes and no release; planner/sglang/loading says what a
// release does with them on a card. Import that to estimate weights, and this
// one to add a class: one file with a family that registers itself.
package weights
