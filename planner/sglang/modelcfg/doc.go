// Package modelcfg derives from a model's config.json what a release of SGLang
// derives in its ModelConfig: architecture class, attention geometry, hybrid
// layer lists, recurrent state shapes, context length, dtype, quantization and
// the facts about the vision tower that the memory defaults ask for.
//
// SGLang reads attributes of configuration objects, not keys of the file, so a
// key that is missing takes the default of its configuration class; those
// defaults are tables here. What differs between releases is data (the release
// from which an architecture is known) or one condition beside the rule.
package modelcfg
