package catalog

// Interruptions is what was counted of a training run on many GPUs.
type Interruptions struct {
	// Unexpected interruptions in Days on GPUs of the type GPU.
	Unexpected, Days, GPUs int
	GPU, Source            string
}

// Llama3 is the pre-training of Llama 3 405B: 54 days on 16,384 GPUs with 466
// interruptions, 47 of which were planned. About 78 % were hardware.
var Llama3 = Interruptions{
	Unexpected: 419, Days: 54, GPUs: 16384, GPU: "h100",
	Source: "The Llama 3 Herd of Models, section 3.3.4, https://arxiv.org/abs/2407.21783",
}

// PerGPUHour is the rate of interruptions: 1.97e-5 for Llama 3.
func (i Interruptions) PerGPUHour() float64 {
	return float64(i.Unexpected) / (float64(i.GPUs) * float64(i.Days) * 24)
}
