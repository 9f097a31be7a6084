package verify

import "time"

// Look is one thing that was looked at: its value, or why it could not be seen. The zero value was not looked at.
type Look[T any] struct {
	Value *T     `json:"value,omitempty"`
	Blind string `json:"blind,omitempty"`
}

// Saw is a look that has seen something. An empty text and a zero were seen to be so: there is none.
func Saw[T any](value T) Look[T] { return Look[T]{Value: &value} }

// Unseen is a look that has not seen anything, and why.
func Unseen[T any](why string) Look[T] { return Look[T]{Blind: why} }

// NoSuch is why there is nothing to see on a device that has no such thing, as others have.
const NoSuch = "the device has no such thing"

// See is what was seen, and if nothing was, why that is so.
func (l Look[T]) See() (value T, blind string) {
	switch {
	case l.Value != nil:
		return *l.Value, ""
	case l.Blind != "":
		return value, l.Blind
	}
	return value, "nobody looked"
}

// Facts is all that a machine tells of itself, seen from where the look began: the machine's own file system, or a container's.
type Facts struct {
	// Schema is 1.
	Schema int `json:"schema"`
	// Host is the machine's name, Container that a container's file system was looked at.
	Host      string  `json:"host"`
	Container bool    `json:"container,omitempty"`
	Root      bool    `json:"root"`
	Seconds   float64 `json:"seconds"`

	Machine     MachineFacts      `json:"machine"`
	Clock       ClockFacts        `json:"clock"`
	GPU         GPUFacts          `json:"gpu"`
	EFA         EFAFacts          `json:"efa"`
	Software    SoftwareFacts     `json:"software"`
	Mounts      Look[[]Mount]     `json:"mounts"`
	Limits      Look[[]Limit]     `json:"limits"`
	Environment map[string]string `json:"environment,omitempty"`
}

// MachineFacts are a machine's parts and how busy it is.
type MachineFacts struct {
	Kernel Look[string] `json:"kernel"`
	// Distro is such as "ubuntu 22.04".
	Distro Look[string] `json:"distro"`
	// Arch is amd64 or arm64.
	Arch string `json:"arch"`
	// CPUs are hardware threads that are on.
	CPUs      Look[int]   `json:"cpus"`
	MemoryMiB Look[int64] `json:"memory_mib"`
	// HugePages is how many pages of HugePageKiB there are.
	HugePages   Look[int64] `json:"huge_pages"`
	HugePageKiB int64       `json:"huge_page_kib,omitempty"`
	// Load is the load average of a minute, Pressure the share of time of the last minute in which something waited, in percent.
	Load           Look[float64] `json:"load"`
	PressureCPU    Look[float64] `json:"pressure_cpu"`
	PressureMemory Look[float64] `json:"pressure_memory"`
	PressureIO     Look[float64] `json:"pressure_io"`
	// Daemons are which of Slurm's run: slurmd, slurmctld, slurmdbd, munged.
	Daemons Look[[]string] `json:"daemons"`
	// KernelLines are what the kernel's log has of GPUs, the last of them, and KernelMissed what of it could not be read.
	KernelLines  Look[[]string] `json:"kernel_lines"`
	KernelMissed string         `json:"kernel_missed,omitempty"`
}

// ClockFacts are a machine's time, and that of whoever asked for it.
type ClockFacts struct {
	// Now is the machine's clock at the look. Asked is the asker's clock when he asked, zero if he did not say, and Back his
	// clock when he had the answer, which he sets himself: the machine's clock goes wrong by between Now-Back and Now-Asked.
	Now   time.Time `json:"now"`
	Asked time.Time `json:"asked,omitzero"`
	Back  time.Time `json:"back,omitzero"`
	// Synchronised says that the kernel holds its clock for that of a server, within MaxErrorMicroseconds.
	Synchronised         Look[bool] `json:"synchronised"`
	MaxErrorMicroseconds int64      `json:"max_error_us,omitempty"`
}

// GPUFacts are a machine's GPUs of NVIDIA and what serves them.
type GPUFacts struct {
	// OnBus is how many the PCI bus has, Switches how many NVSwitches.
	OnBus    Look[int] `json:"on_bus"`
	Switches Look[int] `json:"switches"`
	// Driver is the version of the kernel's driver, empty if none is loaded. CUDA is the newest version that it serves.
	Driver Look[string] `json:"driver"`
	CUDA   Look[string] `json:"cuda"`
	// GPUs are those that nvidia-smi tells of.
	GPUs Look[[]GPUCard] `json:"gpus"`
	// FabricManager is active, inactive, failed, or empty if the machine has none; its version is FabricVersion.
	FabricManager Look[string] `json:"fabric_manager"`
	FabricVersion Look[string] `json:"fabric_version"`
	// PeerMemory says that other devices can reach the memory of GPUs by nvidia_peermem.
	PeerMemory Look[bool] `json:"peer_memory"`
	// Processes use a GPU. Lost are those of them whose process is not there any more.
	Processes Look[[]GPUProcess] `json:"processes"`
	// Topology is how GPUs and network devices reach each other, DCGM what its diagnosis found.
	Topology Look[Topology]  `json:"topology"`
	DCGM     Look[Diagnosis] `json:"dcgm"`
}

// Topology has how Names[i] reaches Names[j] in Paths, as nvidia-smi writes it: "NV18" for so many NVLinks, "PIX", "PXB", "PHB", "NODE" and
// "SYS" for ways over PCIe, each further than the one before. Names are "GPU0", "NIC0" and so on.
type Topology struct {
	Names []string   `json:"names"`
	Paths [][]string `json:"paths"`
}

// Diagnosis is what DCGM's diagnosis of a level found. Failed are faults, Settings what is only set otherwise than DCGM wants it, a line for each.
type Diagnosis struct {
	Version  string   `json:"version,omitempty"`
	Level    int      `json:"level,omitempty"`
	Passed   int      `json:"passed"`
	Failed   []string `json:"failed,omitempty"`
	Settings []string `json:"settings,omitempty"`
}

// GPUCard is one GPU, as nvidia-smi tells of it. What its driver does not tell is blind.
type GPUCard struct {
	Index             int             `json:"index"`
	Name              string          `json:"name"`
	UUID              string          `json:"uuid,omitempty"`
	MemoryMiB         Look[int64]     `json:"memory_mib"`
	PCIeGen           Look[int]       `json:"pcie_gen"`
	PCIeGenMax        Look[int]       `json:"pcie_gen_max"`
	PCIeWidth         Look[int]       `json:"pcie_width"`
	PCIeWidthMax      Look[int]       `json:"pcie_width_max"`
	ECC               Look[string]    `json:"ecc"`
	ECCVolatile       Look[int64]     `json:"ecc_volatile"`
	ECCAggregate      Look[int64]     `json:"ecc_aggregate"`
	RemapPending      Look[string]    `json:"remap_pending"`
	RemapFailure      Look[string]    `json:"remap_failure"`
	Persistence       Look[string]    `json:"persistence"`
	PowerLimitWatts   Look[float64]   `json:"power_limit_w"`
	PowerDefaultWatts Look[float64]   `json:"power_default_w"`
	TemperatureC      Look[float64]   `json:"temperature_c"`
	ClockMHz          Look[float64]   `json:"clock_mhz"`
	ClockMaxMHz       Look[float64]   `json:"clock_max_mhz"`
	State             Look[string]    `json:"state"`
	Throttle          Look[[]string]  `json:"throttle"`
	MIG               Look[string]    `json:"mig"`
	ComputeMode       Look[string]    `json:"compute_mode"`
	FabricState       Look[string]    `json:"fabric_state"`
	FabricStatus      Look[string]    `json:"fabric_status"`
	NVLinks           Look[[]float64] `json:"nvlinks"`
}

// GPUProcess is a process that uses a GPU.
type GPUProcess struct {
	PID  int    `json:"pid"`
	Name string `json:"name"`
	GPU  string `json:"gpu,omitempty"`
	// Lost says that there is no such process: its memory on the GPU is kept by nothing that could be ended.
	Lost bool `json:"lost,omitempty"`
}

// EFAFacts are a machine's EFA and its software.
type EFAFacts struct {
	// Devices are the kernel's, by name.
	Devices Look[[]string] `json:"devices"`
	// Driver is the version of the kernel's driver, Installer of what installed EFA's software, Libfabric that of fi_info.
	// Empty is that there is none.
	Driver    Look[string] `json:"driver"`
	Installer Look[string] `json:"installer"`
	Libfabric Look[string] `json:"libfabric"`
	// Domains are those that libfabric has for reliable datagrams, each once, by its provider.
	Domains Look[map[string][]string] `json:"domains"`
	// Plugin is the version of the OFI plugin for NCCL, empty if there is none.
	Plugin Look[string] `json:"plugin"`
	// Counters are the sums over all devices of the counters of their hardware.
	Counters Look[map[string]int64] `json:"counters"`
	// DeviceFiles is how many of EFA's device files can be opened from here, as in a container.
	DeviceFiles Look[int] `json:"device_files"`
}

// SoftwareFacts are versions of programs and libraries. Empty is that there is none.
type SoftwareFacts struct {
	// CUDA is the version of the toolkit.
	CUDA Look[string] `json:"cuda"`
	// NCCL is the newest of libnccl.so.
	NCCL   Look[string] `json:"nccl"`
	Docker Look[string] `json:"docker"`
	Enroot Look[string] `json:"enroot"`
	// Pyxis says that srun has --container-image, by Pyxis or by muster's plugin.
	Pyxis Look[bool] `json:"pyxis"`
	// ShowsGPUs is what has GPUs shown in containers: CDI, nvidia-container-cli; empty if nothing does.
	ShowsGPUs Look[string] `json:"shows_gpus"`
	Slurm     Look[string] `json:"slurm"`
	Python    Look[string] `json:"python"`
	// PyTorch, the CUDA that it was built for, and the NCCL that it brings.
	PyTorch     Look[string] `json:"pytorch"`
	PyTorchCUDA Look[string] `json:"pytorch_cuda"`
	PyTorchNCCL Look[string] `json:"pytorch_nccl"`
	// Megatron says that Python finds a module of this name.
	Megatron Look[bool] `json:"megatron"`
}

// Mount is a file system that is mounted.
type Mount struct {
	Source    string `json:"source"`
	Dir       string `json:"dir"`
	Type      string `json:"type"`
	Options   string `json:"options,omitempty"`
	ReadOnly  bool   `json:"read_only,omitempty"`
	SizeBytes int64  `json:"size_bytes"`
	FreeBytes int64  `json:"free_bytes"`
	// Inodes are 0 where the file system does not count them.
	Inodes     int64 `json:"inodes,omitempty"`
	FreeInodes int64 `json:"free_inodes,omitempty"`
	// Blind is why its size could not be seen, as where its server does not answer.
	Blind string `json:"blind,omitempty"`
}

// Unlimited is a limit that is none.
const Unlimited = -1

// Limit is a limit of the process that looked, and so of a job's.
type Limit struct {
	// Name is as ulimit's: nofile, memlock, stack, core, nproc.
	Name string `json:"name"`
	Soft int64  `json:"soft"`
	Hard int64  `json:"hard"`
}
