package machine

// Where totals and losses of the catalogue were seen.
const (
	smi    = "public nvidia-smi output, several machines"
	config = "nvidia-smi output in public benchmark records"
	own    = "measured: NVML, nvidia-smi and startup logs of one machine"
	logs   = "public SGLang startup logs"
)

// cards is the catalogue. TotalMiB is what a current driver (R570 and later)
// prints as memory.total; drivers before R510 leave their reserve out of it.
// A card is added by adding a line; the first alias is the name to offer.
var cards = []KnownCard{
	// Blackwell, data centre.
	{Card: Card{"NVIDIA B200", 183359, 10, 0}, Aliases: []string{"B200", "B200-SXM"}, LossGiB: 1.49, LossSeen: logs, Seen: smi},
	{Card: Card{"NVIDIA B300 SXM6 AC", 275040, 10, 3}, Aliases: []string{"B300", "B300-SXM"}, Seen: smi},
	{Card: Card{"NVIDIA GB200", 189471, 10, 0}, Aliases: []string{"GB200"}, GroupGiB: 3.0, LossSeen: logs, Seen: smi},
	{Card: Card{"NVIDIA GB300", 284208, 10, 3}, Aliases: []string{"GB300"}, Seen: smi},
	// Blackwell, workstation and consumer.
	{Card: Card{"NVIDIA RTX PRO 6000 Blackwell Server Edition", 97887, 12, 0}, Aliases: []string{"RTX-PRO-6000-Blackwell", "RTX-PRO-6000", "RTX-PRO-6000-Blackwell-Server", "RTX-PRO-6000-Server"}, GroupGiB: 1.55, LossSeen: logs, Seen: smi},
	{Card: Card{"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 97887, 12, 0}, Aliases: []string{"RTX-PRO-6000-Blackwell-Workstation", "RTX-PRO-6000-Workstation"}, GroupGiB: 1.55, LossSeen: logs, Seen: smi},
	{Card: Card{"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", 97887, 12, 0}, Aliases: []string{"RTX-PRO-6000-Blackwell-Max-Q", "RTX-PRO-6000-Max-Q"}, GroupGiB: 1.55, LossSeen: logs, Seen: smi},
	{Card: Card{"NVIDIA RTX 6000D", 85651, 12, 0}, Aliases: []string{"RTX-6000D"}, Seen: config},
	{Card: Card{"NVIDIA RTX PRO 5000 72GB Blackwell", 73415, 12, 0}, Aliases: []string{"RTX-PRO-5000-72GB", "RTX-PRO-5000-72GB-Blackwell"}, Seen: config},
	{Card: Card{"NVIDIA RTX PRO 5000 Blackwell", 48935, 12, 0}, Aliases: []string{"RTX-PRO-5000-Blackwell", "RTX-PRO-5000"}, Seen: config},
	{Card: Card{"NVIDIA RTX PRO 4500 Blackwell", 32623, 12, 0}, Aliases: []string{"RTX-PRO-4500-Blackwell", "RTX-PRO-4500"}, Seen: config},
	{Card: Card{"NVIDIA RTX PRO 4000 Blackwell", 24467, 12, 0}, Aliases: []string{"RTX-PRO-4000-Blackwell", "RTX-PRO-4000"}, Seen: config},
	// Memory shared with the host: NVML reports no sizes, the total is CUDA's
	// and the host's own processes are part of the loss.
	{Card: Card{"NVIDIA GB10", 124610, 12, 1}, Aliases: []string{"GB10", "DGX-Spark"}, LossGiB: 7.8, LossSeen: logs, Seen: logs},
	{Card: Card{"NVIDIA GeForce RTX 5090", 32607, 12, 0}, Aliases: []string{"RTX-5090", "5090"}, LossGiB: 1.16, LossSeen: logs, Seen: smi},
	{Card: Card{"NVIDIA GeForce RTX 5080", 16303, 12, 0}, Aliases: []string{"RTX-5080", "5080"}, Seen: config},
	{Card: Card{"NVIDIA GeForce RTX 5070 Ti", 16303, 12, 0}, Aliases: []string{"RTX-5070-Ti", "5070-Ti"}, Seen: config},
	// Hopper.
	{Card: Card{"NVIDIA H200", 143771, 9, 0}, Aliases: []string{"H200", "H200-SXM", "H200-141GB"}, LossGiB: 1.27, GroupGiB: 2.19, LossSeen: own, Seen: own},
	{Card: Card{"NVIDIA H200 NVL", 143771, 9, 0}, Aliases: []string{"H200-NVL"}, Seen: config},
	{Card: Card{"NVIDIA H100 80GB HBM3", 81559, 9, 0}, Aliases: []string{"H100", "H100-SXM", "H100-80GB", "H100-SXM5-80GB"}, LossGiB: 1.2, LossSeen: logs, Seen: smi},
	{Card: Card{"NVIDIA H100 PCIe", 81559, 9, 0}, Aliases: []string{"H100-PCIe", "H100-PCIe-80GB"}, Seen: config},
	{Card: Card{"NVIDIA H100 NVL", 95830, 9, 0}, Aliases: []string{"H100-NVL"}, Seen: smi},
	{Card: Card{"NVIDIA H800", 81559, 9, 0}, Aliases: []string{"H800", "H800-80GB"}, Seen: config},
	{Card: Card{"NVIDIA H20", 97871, 9, 0}, Aliases: []string{"H20", "H20-96GB"}, GroupGiB: 2.02, LossSeen: logs, Seen: smi},
	{Card: Card{"NVIDIA H20-3e", 143771, 9, 0}, Aliases: []string{"H20-3e", "H20-141GB"}, Seen: config},
	{Card: Card{"NVIDIA GH200 480GB", 97871, 9, 0}, Aliases: []string{"GH200", "GH200-96GB", "GH200-120GB"}, Seen: smi},
	{Card: Card{"NVIDIA GH200 144G HBM3e", 146831, 9, 0}, Aliases: []string{"GH200-144G", "GH200-144GB"}, Seen: config},
	// Ada.
	{Card: Card{"NVIDIA L40S", 46068, 8, 9}, Aliases: []string{"L40S", "L40S-48GB"}, AlsoMiB: []int64{49140}, LossGiB: 0.97, LossSeen: logs, Seen: smi},
	{Card: Card{"NVIDIA L40", 46068, 8, 9}, Aliases: []string{"L40"}, AlsoMiB: []int64{49140}, Seen: config},
	{Card: Card{"NVIDIA L20", 46068, 8, 9}, Aliases: []string{"L20"}, AlsoMiB: []int64{49140}, Seen: config},
	{Card: Card{"NVIDIA L4", 23034, 8, 9}, Aliases: []string{"L4"}, Seen: smi},
	{Card: Card{"NVIDIA RTX 6000 Ada Generation", 49140, 8, 9}, Aliases: []string{"RTX-6000-Ada", "6000-Ada"}, AlsoMiB: []int64{46068}, Seen: config},
	{Card: Card{"NVIDIA RTX 5880 Ada Generation", 46068, 8, 9}, Aliases: []string{"RTX-5880-Ada"}, Seen: smi},
	{Card: Card{"NVIDIA RTX 4000 Ada Generation", 20475, 8, 9}, Aliases: []string{"RTX-4000-Ada"}, Seen: config},
	{Card: Card{"NVIDIA GeForce RTX 4090", 24564, 8, 9}, Aliases: []string{"RTX-4090", "4090"}, Seen: config},
	{Card: Card{"NVIDIA GeForce RTX 4080 SUPER", 16376, 8, 9}, Aliases: []string{"RTX-4080-SUPER"}, Seen: config},
	// Ampere.
	{Card: Card{"NVIDIA A100-SXM4-80GB", 81920, 8, 0}, Aliases: []string{"A100", "A100-80GB", "A100-SXM", "A100-SXM-80GB"}, AlsoMiB: []int64{81251}, Seen: smi},
	{Card: Card{"NVIDIA A100 80GB PCIe", 81920, 8, 0}, Aliases: []string{"A100-PCIe", "A100-PCIe-80GB"}, AlsoMiB: []int64{81251}, Seen: config},
	{Card: Card{"NVIDIA A100-SXM4-40GB", 40960, 8, 0}, Aliases: []string{"A100-40GB", "A100-SXM-40GB"}, AlsoMiB: []int64{40536, 40537}, Seen: config},
	{Card: Card{"NVIDIA A100-PCIE-40GB", 40960, 8, 0}, Aliases: []string{"A100-PCIe-40GB"}, AlsoMiB: []int64{40536, 40537}, Seen: config},
	{Card: Card{"NVIDIA A800-SXM4-80GB", 81920, 8, 0}, Aliases: []string{"A800", "A800-80GB", "A800-SXM"}, AlsoMiB: []int64{81251}, Seen: config},
	{Card: Card{"NVIDIA A30", 24576, 8, 0}, Aliases: []string{"A30"}, Seen: config},
	{Card: Card{"NVIDIA A40", 46068, 8, 6}, Aliases: []string{"A40"}, AlsoMiB: []int64{49140, 45634}, Seen: smi},
	{Card: Card{"NVIDIA A10", 23028, 8, 6}, Aliases: []string{"A10"}, AlsoMiB: []int64{22731}, Seen: smi},
	{Card: Card{"NVIDIA A10G", 23028, 8, 6}, Aliases: []string{"A10G"}, AlsoMiB: []int64{22731}, Seen: smi},
	{Card: Card{"NVIDIA RTX A6000", 49140, 8, 6}, Aliases: []string{"RTX-A6000", "A6000"}, AlsoMiB: []int64{46068}, Seen: config},
	{Card: Card{"NVIDIA RTX A5000", 24564, 8, 6}, Aliases: []string{"RTX-A5000", "A5000"}, Seen: config},
	{Card: Card{"NVIDIA RTX A4000", 16376, 8, 6}, Aliases: []string{"RTX-A4000", "A4000"}, Seen: config},
	{Card: Card{"NVIDIA GeForce RTX 3090", 24576, 8, 6}, Aliases: []string{"RTX-3090", "3090"}, LossGiB: 1.24, LossSeen: logs, Seen: config},
	{Card: Card{"NVIDIA GeForce RTX 3090 Ti", 24564, 8, 6}, Aliases: []string{"RTX-3090-Ti", "3090-Ti"}, Seen: config},
	{Card: Card{"NVIDIA GeForce RTX 3060", 12288, 8, 6}, Aliases: []string{"RTX-3060", "3060"}, Seen: config},
	// Turing and Volta.
	{Card: Card{"Tesla T4", 15360, 7, 5}, Aliases: []string{"T4"}, AlsoMiB: []int64{15109}, Seen: config},
	{Card: Card{"Tesla V100-SXM2-32GB", 32768, 7, 0}, Aliases: []string{"V100-32GB", "V100", "V100-SXM2"}, AlsoMiB: []int64{32510}, Seen: config},
}
