package weights

var _ = register(func(b *Builder) {
	b.moonViT()
	deepseek(b)
}, "KimiK25ForConditionalGeneration")

var (
	_ = register(func(b *Builder) {
		b.qwenVision()
		bias := b.flag("attention_bias", false)
		b.dense(denseSpec{qkBias: bias, outBias: bias, qkNorm: true, attnDP: true, embedDP: true, headDim: 128, rope: 1000000, maxPos: 32768})
	}, "Qwen3VLForConditionalGeneration")
	_ = register(func(b *Builder) {
		b.qwenVision()
		qwen3MoE(b)
	}, "Qwen3VLMoeForConditionalGeneration")
	_ = register(func(b *Builder) {
		b.dense(denseSpec{qkBias: true, embedDP: true, rope: 1000000, maxPos: 32768})
		b.qwen25Vision()
	}, "Qwen2_5_VLForConditionalGeneration")
)
