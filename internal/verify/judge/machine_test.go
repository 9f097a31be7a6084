package judge_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/verify"
	"github.com/muster-hpc/muster/internal/verify/expect"
	"github.com/muster-hpc/muster/internal/verify/judge"
)

const machineFile = `
Region: us-east-2
Image: {Os: ubuntu2204}
HeadNode: {InstanceType: m5.8xlarge, Networking: {SubnetId: subnet-0123456789abcdef0}}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: gpu
      Networking: {SubnetIds: [subnet-0123456789abcdef0]}
      ComputeResources: [{Name: p5, InstanceType: p5.48xlarge, MinCount: 2, MaxCount: 2, Efa: {Enabled: true}}]
SharedStorage:
  - {Name: fsx, MountDir: /fsx, StorageType: FsxLustre, FsxLustreSettings: {StorageCapacity: 14400, DeploymentType: PERSISTENT_2, PerUnitStorageThroughput: 250}}
`

// wanted are what is right for the head node and for a node with GPUs.
func wanted(t *testing.T) (head, node expect.Node) {
	t.Helper()
	c, list := spec.Parse("cluster.yaml", []byte(machineFile))
	if c == nil {
		t.Fatal(list)
	}
	all := expect.Table(c, nil, nil)
	return all[0], all[1]
}

const tib = 1 << 40

// sound are the facts of a p5.48xlarge on which all is well.
func sound() verify.Facts {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f := verify.Facts{Schema: 1, Host: "gpu-st-p5-1"}
	f.Machine = verify.MachineFacts{Kernel: verify.Saw("6.8.0"), Arch: "amd64", CPUs: verify.Saw(192), MemoryMiB: verify.Saw[int64](2_064_000),
		HugePages: verify.Saw[int64](5128), HugePageKiB: 2048, PressureCPU: verify.Saw(0.5), Daemons: verify.Saw([]string{"munged", "slurmd"}),
		KernelLines: verify.Saw([]string{})}
	f.Clock = verify.ClockFacts{Now: now, Asked: now.Add(-300 * time.Millisecond), Back: now.Add(200 * time.Millisecond), Synchronised: verify.Saw(true)}
	f.Limits = verify.Saw([]verify.Limit{{Name: "nofile", Soft: 1024, Hard: 131072}, {Name: "memlock", Soft: verify.Unlimited, Hard: verify.Unlimited},
		{Name: "stack", Soft: 8 << 20, Hard: verify.Unlimited}})
	f.Mounts = verify.Saw([]verify.Mount{
		{Dir: "/", Type: "ext4", SizeBytes: tib, FreeBytes: tib / 2, Inodes: 100, FreeInodes: 90},
		{Dir: "/fsx", Type: "lustre", SizeBytes: 13 * tib, FreeBytes: 6 * tib, Inodes: 100, FreeInodes: 90},
		{Dir: "/scratch", Type: "ext4", SizeBytes: 28 * tib, FreeBytes: 27 * tib},
		{Dir: "/dev/shm", Type: "tmpfs", SizeBytes: tib, FreeBytes: tib},
	})
	f.GPU = verify.GPUFacts{OnBus: verify.Saw(8), Switches: verify.Saw(4), Driver: verify.Saw("570.148.08"), CUDA: verify.Saw("12.8"), FabricManager: verify.Saw("active"),
		FabricVersion: verify.Saw("570.148.08"), PeerMemory: verify.Saw(true), Processes: verify.Saw([]verify.GPUProcess{}), Topology: verify.Saw(joined()),
		DCGM: verify.Saw(verify.Diagnosis{Version: "4.2.3", Passed: 9})}
	var cards []verify.GPUCard
	for i := range 8 {
		cards = append(cards, card(i))
	}
	f.GPU.GPUs = verify.Saw(cards)
	var names []string
	for i := range 32 {
		names = append(names, fmt.Sprintf("rdmap%ds0", i))
	}
	f.EFA = verify.EFAFacts{Devices: verify.Saw(names), Driver: verify.Saw("2.17.3g"), Installer: verify.Saw("1.47.0"), Libfabric: verify.Saw("2.3.1amzn1.0"),
		Domains: verify.Saw(map[string][]string{"efa": names, "efa;ofi_rxd": names}), Plugin: verify.Saw("1.17.3-aws"), DeviceFiles: verify.Saw(32)}
	f.Software = verify.SoftwareFacts{CUDA: verify.Saw("12.9.1"), NCCL: verify.Saw("2.29.3"), Docker: verify.Saw(""), Enroot: verify.Saw(""), Pyxis: verify.Saw(true),
		ShowsGPUs: verify.Saw("CDI"), PyTorch: verify.Saw("2.8.0"), PyTorchCUDA: verify.Saw("12.9"), PyTorchNCCL: verify.Saw("2.27.7"), Megatron: verify.Saw(false)}
	return f
}

// joined is how eight GPUs reach each other by NVLink, and two network devices beside them.
func joined() verify.Topology {
	names := []string{"GPU0", "GPU1", "GPU2", "GPU3", "GPU4", "GPU5", "GPU6", "GPU7", "NIC0", "NIC1"}
	t := verify.Topology{Names: names}
	for i, a := range names {
		t.Paths = append(t.Paths, slices.Repeat([]string{"SYS"}, len(names)))
		for j, b := range names {
			if strings.HasPrefix(a, "GPU") && strings.HasPrefix(b, "GPU") {
				t.Paths[i][j] = "NV18"
			}
		}
		t.Paths[i][i] = "X"
	}
	return t
}

func card(i int) verify.GPUCard {
	links := slices.Repeat([]float64{26.562}, 18)
	return verify.GPUCard{Index: i, Name: "NVIDIA H100 80GB HBM3", MemoryMiB: verify.Saw[int64](81559), PCIeGen: verify.Saw(5), PCIeGenMax: verify.Saw(5),
		PCIeWidth: verify.Saw(16), PCIeWidthMax: verify.Saw(16), ECC: verify.Saw("Enabled"), ECCVolatile: verify.Saw[int64](0), ECCAggregate: verify.Saw[int64](0),
		RemapPending: verify.Saw("No"), RemapFailure: verify.Saw("No"), Persistence: verify.Saw("Enabled"), PowerLimitWatts: verify.Saw(700.0), PowerDefaultWatts: verify.Saw(700.0),
		TemperatureC: verify.Saw(31.0), State: verify.Saw("P0"), Throttle: verify.Saw([]string{"idle"}), MIG: verify.Saw("Disabled"), FabricState: verify.Saw("Completed"),
		FabricStatus: verify.Saw("Success"), NVLinks: verify.Saw(links)}
}

// judged are the results of all suites of a machine.
func judged(f verify.Facts, n expect.Node) []verify.Result {
	return slices.Concat(judge.Basic("n1", f, n), judge.Host("n1", f, n), judge.GPU("n1", f, n), judge.EFA("n1", f, n), judge.Container("n1", f, n))
}

func TestSound(t *testing.T) {
	_, node := wanted(t)
	for _, r := range judged(sound(), node) {
		skipped := []string{"docker", "enroot", "mount-inodes", "container-megatron"}
		if r.Verdict != verify.Pass && (r.Verdict != verify.Skip || !slices.Contains(skipped, r.Check)) {
			t.Errorf("%+v", r)
		}
		if r.Verdict == verify.Pass && r.Source == "" {
			t.Errorf("%s has no source", r.Check)
		}
	}
}

// TestDamaged has each damage found by its own check, and by no other.
func TestDamaged(t *testing.T) {
	_, node := wanted(t)
	third := func(change func(*verify.GPUCard)) func(*verify.Facts) {
		return func(f *verify.Facts) { change(&(*f.GPU.GPUs.Value)[3]) }
	}
	mount := func(i int, change func(*verify.Mount)) func(*verify.Facts) {
		return func(f *verify.Facts) { change(&(*f.Mounts.Value)[i]) }
	}
	for name, c := range map[string]struct {
		damage  func(*verify.Facts)
		verdict verify.Verdict
		check   string
		found   string
	}{
		"seven_gpus":     {func(f *verify.Facts) { *f.GPU.GPUs.Value = (*f.GPU.GPUs.Value)[:7] }, verify.Fail, "gpu-count container-gpus", "7 GPUs"},
		"another_gpu":    {third(func(c *verify.GPUCard) { c.Name = "NVIDIA A100-SXM4-80GB" }), verify.Fail, "gpu-model", "GPU 3: NVIDIA A100-SXM4-80GB"},
		"narrow":         {third(func(c *verify.GPUCard) { c.PCIeWidth = verify.Saw(8) }), verify.Fail, "gpu-pcie-width", "GPU 3: x8"},
		"slow_bus":       {third(func(c *verify.GPUCard) { c.PCIeGen = verify.Saw(3) }), verify.Warn, "gpu-pcie-gen", "GPU 3: gen 3"},
		"slow_bus_idle":  {third(func(c *verify.GPUCard) { c.PCIeGen, c.State = verify.Saw(1), verify.Saw("P8") }), verify.Blind, "gpu-pcie-gen", ""},
		"ecc":            {third(func(c *verify.GPUCard) { c.ECCVolatile = verify.Saw[int64](2) }), verify.Fail, "gpu-ecc-errors", "GPU 3: 2 errors"},
		"ecc_before":     {third(func(c *verify.GPUCard) { c.ECCAggregate = verify.Saw[int64](1) }), verify.Warn, "gpu-ecc-past", "GPU 3: 1 error"},
		"remap":          {third(func(c *verify.GPUCard) { c.RemapFailure = verify.Saw("Yes") }), verify.Fail, "gpu-remap", "GPU 3: failed"},
		"remap_pending":  {third(func(c *verify.GPUCard) { c.RemapPending = verify.Saw("Yes") }), verify.Warn, "gpu-remap", "GPU 3: pending"},
		"persistence":    {third(func(c *verify.GPUCard) { c.Persistence = verify.Saw("Disabled") }), verify.Warn, "gpu-persistence", "GPU 3: Disabled"},
		"throttled":      {third(func(c *verify.GPUCard) { c.Throttle = verify.Saw([]string{"hw-thermal"}) }), verify.Fail, "gpu-throttle", "GPU 3: hw-thermal"},
		"capped":         {third(func(c *verify.GPUCard) { c.Throttle = verify.Saw([]string{"power-cap"}) }), verify.Warn, "gpu-throttle", "GPU 3: power-cap"},
		"power":          {third(func(c *verify.GPUCard) { c.PowerLimitWatts = verify.Saw(500.0) }), verify.Warn, "gpu-power", "GPU 3: 500 W of 700 W"},
		"hot":            {third(func(c *verify.GPUCard) { c.TemperatureC = verify.Saw(88.0) }), verify.Warn, "gpu-temperature", "GPU 3: 88 °C"},
		"very_hot":       {third(func(c *verify.GPUCard) { c.TemperatureC = verify.Saw(96.0) }), verify.Fail, "gpu-temperature", "GPU 3: 96 °C"},
		"a_link_down":    {third(func(c *verify.GPUCard) { (*c.NVLinks.Value)[7] = 0 }), verify.Fail, "gpu-nvlinks", "GPU 3: 17 of 18 NVLinks up"},
		"a_link_missing": {third(func(c *verify.GPUCard) { *c.NVLinks.Value = (*c.NVLinks.Value)[1:] }), verify.Fail, "gpu-nvlinks", "GPU 3: 17 NVLinks up"},
		"fabric":         {third(func(c *verify.GPUCard) { c.FabricState = verify.Saw("In Progress") }), verify.Fail, "gpu-fabric", "GPU 3: In Progress"},
		"fabric_failed":  {third(func(c *verify.GPUCard) { c.FabricStatus = verify.Saw("Timeout") }), verify.Fail, "gpu-fabric", "GPU 3: Completed, Timeout"},
		"over_pcie":      {func(f *verify.Facts) { f.GPU.Topology.Value.Paths[2][5] = "SYS" }, verify.Fail, "gpu-topology", "no NVLink between 1 of 28 pairs"},
		"no_topology":    {func(f *verify.Facts) { f.GPU.Topology = verify.Unseen[verify.Topology]("cut off") }, verify.Blind, "gpu-topology", ""},
		"no_dcgm":        {func(f *verify.Facts) { f.GPU.DCGM = verify.Unseen[verify.Diagnosis]("no dcgmi") }, verify.Blind, "gpu-dcgm", ""},
		"dcgm_idle":      {func(f *verify.Facts) { f.GPU.DCGM = verify.Saw(verify.Diagnosis{}) }, verify.Blind, "gpu-dcgm", ""},
		"dcgm_failed": {func(f *verify.Facts) {
			f.GPU.DCGM = verify.Saw(verify.Diagnosis{Passed: 3, Failed: []string{"memory on GPU 3: a row"}})
		}, verify.Fail, "gpu-dcgm", "1 failed test"},
		"dcgm_settings": {func(f *verify.Facts) {
			f.GPU.DCGM = verify.Saw(verify.Diagnosis{Passed: 3, Settings: []string{"persistence"}})
		}, verify.Warn, "gpu-dcgm", "1 setting"},
		"blind_gpu":     {third(func(c *verify.GPUCard) { c.PCIeWidth = verify.Unseen[int]("ERR!") }), verify.Blind, "gpu-pcie-width", ""},
		"no_manager":    {func(f *verify.Facts) { f.GPU.FabricManager = verify.Saw("failed") }, verify.Fail, "gpu-fabric-manager", "failed"},
		"other_manager": {func(f *verify.Facts) { f.GPU.FabricVersion = verify.Saw("570.86.15") }, verify.Fail, "gpu-fabric-version", "570.86.15 beside driver 570.148.08"},
		"xid": {func(f *verify.Facts) {
			f.Machine.KernelLines = verify.Saw([]string{"NVRM: Xid (PCI:0000:38:00): 13, x", "NVRM: Xid (PCI:0000:38:00): 79, pid=12, GPU has fallen off the bus."})
		}, verify.Fail, "gpu-xid", "1 line"},
		"no_kernel_log": {func(f *verify.Facts) { f.Machine.KernelLines = verify.Unseen[[]string]("only root") }, verify.Blind, "gpu-xid", ""},
		"zombie": {func(f *verify.Facts) {
			f.GPU.Processes = verify.Saw([]verify.GPUProcess{{PID: 7, Name: "python", Lost: true}})
		}, verify.Warn, "gpu-processes", "1 process"},
		"thirty_one_efa":     {func(f *verify.Facts) { *f.EFA.Devices.Value = (*f.EFA.Devices.Value)[:31] }, verify.Fail, "efa-devices", "31 devices"},
		"thirty_one_domains": {func(f *verify.Facts) { d := *f.EFA.Domains.Value; d["efa"] = d["efa"][:31] }, verify.Fail, "efa-domains", "31 domains"},
		"no_fi_info":         {func(f *verify.Facts) { f.EFA.Domains = verify.Unseen[map[string][]string]("no fi_info") }, verify.Blind, "efa-domains", ""},
		"old_efa":            {func(f *verify.Facts) { f.EFA.Installer = verify.Saw("1.28.0") }, verify.Fail, "efa-installer", "1.28.0"},
		"no_efa":             {func(f *verify.Facts) { f.EFA.Installer = verify.Saw("") }, verify.Fail, "efa-installer", "none"},
		"leaking_plugin":     {func(f *verify.Facts) { f.EFA.Plugin = verify.Saw("1.8.1-aws") }, verify.Warn, "efa-plugin container-ofi", "1.8.1-aws"},
		"old_plugin":         {func(f *verify.Facts) { f.EFA.Plugin = verify.Saw("1.7.4-aws") }, verify.Fail, "efa-plugin container-ofi", "1.7.4-aws"},
		"memlock":            {func(f *verify.Facts) { (*f.Limits.Value)[1].Soft = 65536 }, verify.Fail, "efa-memlock container-memlock", "65536"},
		"few_files":          {func(f *verify.Facts) { (*f.Limits.Value)[0].Hard = 4096 }, verify.Warn, "nofile", "4096, 1024 unless asked for"},
		"small_stack":        {func(f *verify.Facts) { (*f.Limits.Value)[2].Hard = 8 << 20 }, verify.Warn, "stack", "8388608"},
		"huge_pages":         {func(f *verify.Facts) { f.Machine.HugePages = verify.Saw[int64](0) }, verify.Warn, "efa-hugepages", "0 of 2 MiB"},
		"not_mounted":        {func(f *verify.Facts) { f.Mounts.Value = new(slices.Delete(*f.Mounts.Value, 1, 2)) }, verify.Fail, "mount mount-writable mount-size mount-free mount-inodes", "not mounted"},
		"other_mount":        {mount(1, func(m *verify.Mount) { m.Type = "nfs4" }), verify.Fail, "mount", "nfs4"},
		"read_only":          {mount(1, func(m *verify.Mount) { m.ReadOnly = true }), verify.Fail, "mount-writable", "read-only"},
		"small_mount":        {mount(1, func(m *verify.Mount) { m.SizeBytes = 8 * tib }), verify.Fail, "mount-size", "8.0 TiB"},
		"full":               {mount(1, func(m *verify.Mount) { m.FreeBytes = m.SizeBytes / 100 }), verify.Fail, "mount-free", "1 % free, 133 GiB"},
		"nearly_full":        {mount(0, func(m *verify.Mount) { m.FreeBytes = m.SizeBytes / 20 }), verify.Warn, "mount-free", "5 % free, 51 GiB"},
		"no_inodes":          {mount(0, func(m *verify.Mount) { m.FreeInodes = 1 }), verify.Fail, "mount-inodes", "1 % free, 1 inodes"},
		"hanging_mount":      {mount(1, func(m *verify.Mount) { m.Blind = "does not answer" }), verify.Blind, "mount-size mount-free mount-inodes", ""},
		"seven_disks":        {mount(2, func(m *verify.Mount) { m.SizeBytes = 24 * tib }), verify.Fail, "scratch", "24 TiB"},
		"clock":              {func(f *verify.Facts) { f.Clock.Now = f.Clock.Now.Add(90 * time.Second) }, verify.Fail, "clock", "89.8 s off, or up to 500 ms more"},
		"clock_behind":       {func(f *verify.Facts) { f.Clock.Now = f.Clock.Now.Add(-5 * time.Second) }, verify.Warn, "clock", "4.7 s off, or up to 500 ms more"},
		"slow_answer":        {func(f *verify.Facts) { f.Clock.Back = f.Clock.Back.Add(2 * time.Minute) }, verify.Blind, "clock", ""},
		"no_time":            {func(f *verify.Facts) { f.Clock.Asked = time.Time{} }, verify.Blind, "clock", ""},
		"drifting":           {func(f *verify.Facts) { f.Clock.Synchronised = verify.Saw(false) }, verify.Warn, "clock-synchronised", "no"},
		"old_driver": {func(f *verify.Facts) {
			f.GPU.Driver, f.GPU.FabricVersion = verify.Saw("530.30.02"), verify.Saw("530.30.02")
		}, verify.Fail, "gpu-driver", "530.30.02"},
		"too_new_cuda":      {func(f *verify.Facts) { f.Software.CUDA = verify.Saw("13.0.1") }, verify.Fail, "container-cuda-driver", "CUDA 13.0.1 on driver 570.148.08"},
		"old_nccl":          {func(f *verify.Facts) { f.Software.NCCL, f.Software.PyTorchNCCL = verify.Saw("2.14.3"), verify.Saw("") }, verify.Fail, "container-nccl", "2.14.3"},
		"bad_nccl":          {func(f *verify.Facts) { f.Software.PyTorchNCCL = verify.Saw("2.28.5") }, verify.Warn, "container-nccl", "PyTorch's: 2.28.5"},
		"no_torch":          {func(f *verify.Facts) { f.Software.PyTorch = verify.Saw("") }, verify.Warn, "container-pytorch", "none"},
		"cpu_torch":         {func(f *verify.Facts) { f.Software.PyTorchCUDA = verify.Saw("") }, verify.Warn, "container-pytorch", "2.8.0"},
		"little_shm":        {mount(3, func(m *verify.Mount) { m.SizeBytes = 64 << 20 }), verify.Fail, "container-shm", "64 MiB"},
		"hidden_devices":    {func(f *verify.Facts) { f.EFA.DeviceFiles = verify.Saw(0) }, verify.Fail, "container-efa", "0 devices"},
		"no_slurmd":         {func(f *verify.Facts) { f.Machine.Daemons = verify.Saw([]string{"munged"}) }, verify.Fail, "daemons", "no slurmd"},
		"busy":              {func(f *verify.Facts) { f.Machine.PressureCPU = verify.Saw(40.0) }, verify.Warn, "idle", "40 %"},
		"little_memory":     {func(f *verify.Facts) { f.Machine.MemoryMiB = verify.Saw[int64](1_800_000) }, verify.Fail, "memory", "1800000 MiB"},
		"aborting_variable": {func(f *verify.Facts) { f.Environment = map[string]string{"FI_EFA_MTU_SIZE": "9000"} }, verify.Fail, "environment container-environment", ""},
		"interface_variables": {func(f *verify.Facts) {
			f.Environment = map[string]string{"NCCL_DEBUG": "WARN", "a b": "c", "NCCL_X": "'\n$(x)"}
		}, verify.Warn, "environment container-environment", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := sound()
			c.damage(&f)
			var wrong []string
			for _, r := range judged(f, node) {
				if r.Verdict == verify.Pass || r.Verdict == verify.Skip {
					continue
				}
				wrong = append(wrong, r.Check)
				if r.Verdict != c.verdict || c.found != "" && r.Found != c.found || r.Why == "" || r.Source == "" {
					t.Errorf("%s: %s, found %q, why %q of %q", r.Check, r.Verdict, r.Found, r.Why, r.Source)
				}
			}
			if slices.Sort(wrong); !slices.Equal(wrong, sorted(c.check)) {
				t.Errorf("got %v, want %s", wrong, c.check)
			}
		})
	}
}

func sorted(words string) []string { return slices.Sorted(strings.FieldsSeq(words)) }

// TestHead holds that a head node needs no GPUs, and that it has none.
func TestHead(t *testing.T) {
	head, _ := wanted(t)
	f := sound()
	f.GPU = verify.GPUFacts{OnBus: verify.Saw(0), GPUs: verify.Unseen[[]verify.GPUCard]("no nvidia-smi"), Driver: verify.Saw("")}
	f.EFA = verify.EFAFacts{}
	f.Machine.CPUs, f.Machine.MemoryMiB, f.Machine.Daemons = verify.Saw(32), verify.Saw[int64](126000), verify.Saw([]string{"munged", "slurmctld"})
	for _, r := range judged(f, head) {
		if r.Verdict != verify.Pass && r.Verdict != verify.Skip {
			t.Errorf("%+v", r)
		}
	}
	if r := judge.GPU("head", f, head)[0]; r.Check != "gpu-count" || r.Verdict != verify.Pass || r.Found != "0 GPUs" || r.Want != "no GPU" {
		t.Errorf("%+v", r)
	}
}

// TestNothingSeen: facts that nobody gathered pass no check that looks for something.
func TestNothingSeen(t *testing.T) {
	for _, n := range []expect.Node{first(wanted(t)), second(wanted(t)), expect.Expected(expect.Subject{Role: expect.Compute})} {
		for _, r := range judged(verify.Facts{}, n) {
			if r.Verdict == verify.Pass && !strings.HasSuffix(r.Check, "environment") {
				t.Errorf("%+v", r)
			}
		}
	}
}

func first(a, _ expect.Node) expect.Node  { return a }
func second(_, b expect.Node) expect.Node { return b }

// TestUnknownType judges by what a machine says itself where nobody knows what it should have.
func TestUnknownType(t *testing.T) {
	n := expect.Expected(expect.Subject{Role: expect.Compute})
	for _, r := range judged(sound(), n) {
		if r.Verdict != verify.Pass && r.Verdict != verify.Skip {
			t.Errorf("%+v", r)
		}
	}
	f := sound()
	*f.GPU.GPUs.Value = (*f.GPU.GPUs.Value)[:7]
	(*f.GPU.GPUs.Value)[1].PCIeWidth = verify.Saw(8)
	d := *f.EFA.Domains.Value
	d["efa"] = d["efa"][:3]
	var wrong []string
	for _, r := range judged(f, n) {
		if r.Verdict == verify.Fail {
			wrong = append(wrong, r.Check)
		}
	}
	if want := []string{"gpu-count", "gpu-pcie-width", "efa-domains", "container-gpus"}; !slices.Equal(wrong, want) {
		t.Errorf("got %v, want %v", wrong, want)
	}
	f = verify.Facts{GPU: verify.GPUFacts{OnBus: verify.Saw(0), Driver: verify.Saw(""), GPUs: verify.Unseen[[]verify.GPUCard]("no nvidia-smi")}, EFA: verify.EFAFacts{Devices: verify.Saw([]string{})}}
	for _, r := range judge.GPU("n", f, n) {
		if r.Verdict != verify.Skip && r.Verdict != verify.Blind {
			t.Errorf("%+v", r)
		}
	}
}

// TestRehearsal skips what nodes of one machine do not have, and says so.
func TestRehearsal(t *testing.T) {
	n := expect.Expected(expect.Subject{Role: expect.Compute, Type: "p5.48xlarge", Rehearsal: true})
	for _, suite := range []string{verify.GPU, verify.EFA} {
		for _, e := range n.Of(suite) {
			if !strings.Contains(e.Skip, "rehearsal") {
				t.Errorf("%s: %q", e.Check, e.Skip)
			}
		}
	}
	if got := verify.Sum(judge.GPU("n", verify.Facts{}, n)); got != verify.Skip {
		t.Error(got)
	}
}

// TestBusAlone: without nvidia-smi the PCI bus proves that GPUs are missing, and never that all is well.
func TestBusAlone(t *testing.T) {
	_, node := wanted(t)
	f := sound()
	f.GPU.GPUs = verify.Unseen[[]verify.GPUCard]("this machine has no nvidia-smi")
	for bus, want := range map[int]verify.Verdict{7: verify.Fail, 8: verify.Blind, 0: verify.Fail} {
		f.GPU.OnBus = verify.Saw(bus)
		if r := judge.GPU("n", f, node)[0]; r.Verdict != want || !r.Required {
			t.Errorf("%d: %+v", bus, r)
		}
	}
}
