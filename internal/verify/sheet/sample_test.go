package sheet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/muster-hpc/muster/internal/verify"
)

// sample is a report such as a cluster of p5e.48xlarge makes it: every verdict, curves of six collectives, a heat map with one
// slow node, and texts that would do harm where they were trusted. Its numbers are made up by formulas.
func sample(nodes int) verify.Report {
	g := generator{random: rand.New(rand.NewPCG(1, uint64(nodes)))}
	for i := range nodes {
		g.nodes = append(g.nodes, fmt.Sprintf("gpu-dy-p5e-%d", i+1))
	}
	began := time.Date(2026, 11, 3, 8, 0, 0, 0, time.UTC)
	r := verify.Report{
		Identity: verify.Identity{
			Cluster: "training", Place: "aws", File: "/home/ada/cluster.yaml", FileSHA256: strings.Repeat("3fa9c1d07be2", 5) + "9e1c",
			Muster: "v0.9.1", Slurm: "25.11.7", InstanceTypes: []string{"p5e.48xlarge"},
			Versions: map[string]string{"driver": "580.95.05", "CUDA": "13.0", "NCCL": "2.28.3", "aws-ofi-nccl": "1.17.1", "libfabric": "2.3.1amzn1.0", "EFA installer": "1.44.0"},
		},
		Began: began, Partition: "gpu", Nodes: g.nodes,
	}
	for i, s := range []verify.Suite{g.basic(), g.host(), g.container(), g.gpu(), g.efa(), g.nccl(), g.network(), g.storage(), g.slurm()} {
		s.Began, s.Seconds, s.Jobs = began.Add(time.Duration(i)*90*time.Second), 41.7+float64(i)*7, []int{1201}
		r.Suites = append(r.Suites, s)
		r.Seconds += s.Seconds
	}
	r.Close()
	return r
}

type generator struct {
	random *rand.Rand
	nodes  []string
}

// each is a result of a check for each node; odd makes some of them differ.
func (g *generator) each(check, found, want, source string, odd map[int]verify.Result) (all []verify.Result) {
	for i, n := range g.nodes {
		x := verify.Result{Check: check, Verdict: verify.Pass, Found: found, Want: want, Source: source}
		if o, ok := odd[i]; ok {
			x = o
			x.Check, x.Source = check, source
		}
		x.On = n
		all = append(all, x)
	}
	return all
}

func (g *generator) basic() verify.Suite {
	s := verify.Suite{Name: verify.Basic, Results: []verify.Result{
		{Check: "slurmctld", Verdict: verify.Pass, Found: "answers", Want: "answers", Required: true},
		{Check: "accounting", Verdict: verify.Pass, Found: "knows training", Want: "knows this cluster"},
		{Check: "partition", On: "gpu", Verdict: verify.Pass, Found: "UP, all nodes in service", Want: "UP, with nodes in service"},
		{Check: "bucket", On: "s3://corpus", Verdict: verify.Fail, Found: "AccessDenied", Want: "lists", Required: true,
			Why: "the role of the nodes may not list it", Hint: "give arn:aws:iam::123456789012:role/training s3:ListBucket", Source: "cluster.yaml, line 31",
			Evidence: []string{"GET /?list-type=2 HTTP/1.1", "<Error><Code>AccessDenied</Code></Error>", `<script>alert("from a bucket")</script>`}},
	}}
	s.Results = append(s.Results, g.each("job-step", "ran", "runs what a job starts", "", nil)...)
	for i, x := range g.each("clock", "", "within 1 s of the head node", "munge(7)", nil) {
		x.Value = &verify.Value{Number: 0.002 + 0.001*g.random.Float64(), Unit: "s", Lower: true}
		x.Found = fmt.Sprintf("%.1f ms ahead", x.Value.Number*1000)
		if i == 5 {
			x.Verdict, x.Value.Number, x.Found = verify.Warn, 2.7, "2.7 s ahead"
			x.Why, x.Hint = "files and logs of several nodes come in the wrong order", "chronyc makestep on the node"
		}
		s.Results = append(s.Results, x)
	}
	return s
}

func (g *generator) host() verify.Suite {
	s := verify.Suite{Name: verify.Host}
	for _, c := range [][3]string{
		{"kernel", "6.1.155-176.282.amzn2023", "the same on all nodes"}, {"memory", "2048 GiB", "2048 GiB"}, {"cpus", "192", "192"},
		{"nvme", "8 of 3.5 TiB", "8 disks"}, {"memlock", "unlimited", "unlimited"}, {"open-files", "1048576", "at least 65536"},
		{"hugepages", "5128 of 2 MiB", "some"}, {"firewall", "none", "none between nodes"}, {"selinux", "permissive", "not enforcing"},
	} {
		s.Results = append(s.Results, g.each(c[0], c[1], c[2], "catalogue of instance types, 2026-10-01", nil)...)
	}
	s.Results = append(s.Results, g.each("scratch", "28 TiB xfs at /scratch", "a file system on NVMe", "cluster.yaml, line 40", map[int]verify.Result{
		2: {Verdict: verify.Blind, Why: "df on gpu-dy-p5e-3: \x1b[31mpermission denied\x1b[0m", Hint: "run it as root"},
		3: {Verdict: verify.Warn, Found: "24 TiB xfs at /scratch", Want: "at least 27 TiB", Why: "one disk is missing"},
	})...)
	return s
}

func (g *generator) container() verify.Suite {
	return verify.Suite{Name: verify.Container, Verdict: verify.Skip, Why: "no image was named: --image names one", Results: []verify.Result{}}
}

func (g *generator) gpu() verify.Suite {
	s := verify.Suite{Name: verify.GPU}
	s.Results = append(s.Results, g.each("gpu-count", "8 H200", "8 H200", "catalogue of instance types, 2026-10-01", map[int]verify.Result{
		6: {Verdict: verify.Fail, Found: "7 H200", Want: "8 H200", Required: true, Why: "GPU 5 fell off the bus", Hint: "muster node kill gpu-dy-p5e-7: another instance takes its place",
			Evidence: []string{"NVRM: Xid (PCI:0000:b9:00): 79, pid='<unknown>', GPU has fallen off the bus.", "nvidia-smi: Unable to determine the device handle for GPU5: 0000:B9:00.0: Unknown Error"}},
	})...)
	s.Results = append(s.Results, g.each("nvlink", "18 links of 26.6 GB/s each GPU", "18 links", "NVIDIA H200 data sheet", nil)...)
	s.Results = append(s.Results, g.each("ecc", "0 uncorrected", "0 uncorrected", "NVIDIA XID catalogue r590", nil)...)
	for i, n := range g.nodes {
		x := verify.Result{Check: "power", On: n, Verdict: verify.Skip, Why: "the GPUs were idle"}
		if i%9 == 4 {
			x = verify.Result{Check: "power", On: n, Verdict: verify.Blind, Why: "dcgmi: command not found", Hint: "dnf install datacenter-gpu-manager-4-core"}
		}
		s.Results = append(s.Results, x)
	}
	return s
}

func (g *generator) efa() verify.Suite {
	return verify.Suite{Name: verify.EFA, Results: append(g.each("efa-devices", "32 devices", "32 devices", "catalogue of instance types, 2026-10-01", nil),
		g.each("libfabric", "2.3.1amzn1.0", "at least 1.22.0amzn4.0", "EFA installer 1.44.0", nil)...)}
}

// nccl has curves whose bandwidth grows with the message as latency and bandwidth make it.
func (g *generator) nccl() verify.Suite {
	s := verify.Suite{Name: verify.NCCL}
	on := g.nodes[0] + "..." + g.nodes[len(g.nodes)-1]
	for i, name := range []string{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "alltoall"} {
		best, lag := []float64{371, 364, 362, 358, 340, 61}[i], 25e-6*float64(1+i)
		curve := verify.Series{Name: name, On: on, XUnit: "B", YUnit: "GB/s"}
		if i < 3 {
			curve.Expected, curve.Source = 365, "AWS's nccl-tests on p5en, four nodes"
		}
		for size := 8.0; size <= 16<<30; size *= 2 {
			y := size / (size/best/1e9 + lag) / 1e9
			curve.Points = append(curve.Points, verify.Point{X: size, Y: y * (0.97 + 0.03*g.random.Float64())})
		}
		peak := curve.Points[len(curve.Points)-1].Y
		x := verify.Result{Check: strings.ReplaceAll(name, "_", "-"), On: on, Verdict: verify.Pass, Found: figures(peak) + " GB/s at 16 GiB",
			Value: &verify.Value{Number: peak, Unit: "GB/s", Expected: curve.Expected}, Source: curve.Source}
		if i == 5 {
			x.Verdict, x.Why = verify.Warn, "no expectation is known for it; an earlier report had 79 GB/s"
		}
		s.Results, s.Series = append(s.Results, x), append(s.Series, curve)
	}
	return s
}

// network has a node whose pairs are slow.
func (g *generator) network() verify.Suite {
	slow := min(10, len(g.nodes)-1)
	m := verify.Matrix{Name: "bandwidth", Unit: "GB/s", Nodes: g.nodes}
	for a := range g.nodes {
		for b := a + 1; b < len(g.nodes); b++ {
			v := 11.6 + 0.5*g.random.Float64()
			if a == slow || b == slow {
				v *= 0.43
			}
			if (a*31+b)%97 != 0 {
				m.Pairs = append(m.Pairs, verify.Pair{A: a, B: b, Value: math.Round(100*v) / 100, Round: (a + b) % len(g.nodes)})
			}
		}
	}
	s := verify.Suite{Name: verify.Network, Matrices: []verify.Matrix{m}}
	for i, x := range g.each("bandwidth", "11.9 GB/s", "12 GB/s", "catalogue of instance types, 2026-10-01", nil) {
		x.Value = &verify.Value{Number: 11.6 + 0.5*g.random.Float64(), Unit: "GB/s", Expected: 12}
		if i == slow {
			x.Verdict, x.Value.Number = verify.Fail, 5.1
			x.Why, x.Hint = "all its pairs are slow, and those of others are not: 5.1 GB/s is 43 % of the median", "muster node kill "+x.On
		}
		x.Found = figures(x.Value.Number) + " GB/s"
		s.Results = append(s.Results, x)
	}
	return s
}

func (g *generator) storage() verify.Suite {
	s := verify.Suite{Name: verify.Storage}
	for i, mount := range []string{"/fsx", "/home", "/scratch"} {
		for n, check := range []string{"write", "read", "create", "remove"} {
			x := verify.Result{Check: check, On: mount, Verdict: verify.Pass}
			if n < 2 {
				x.Value = &verify.Value{Number: []float64{9.1, 0.4, 38}[i] * float64(1+n) * 0.93, Unit: "GB/s", Expected: []float64{9.6, 0, 40}[i] * float64(1+n)}
				x.Source = "FSx for Lustre's user guide: PERSISTENT_2, 250 MB/s per TiB"
			} else {
				x.Value = &verify.Value{Number: []float64{14200, 2100, 91000}[i] * float64(n-1), Unit: "ops/s"}
				x.Why = "measured, and not judged: no rating is known"
			}
			x.Found = figures(x.Value.Number) + " " + x.Value.Unit
			s.Results = append(s.Results, x)
		}
	}
	s.Results[5].Verdict, s.Results[5].Why = verify.Warn, "slower than its writes"
	curve := verify.Series{Name: "write", On: "/fsx", XUnit: "node", YUnit: "GB/s"}
	for i := range g.nodes {
		curve.Points = append(curve.Points, verify.Point{X: float64(i), Y: 1.1 + 0.1*g.random.Float64()})
	}
	s.Series = append(s.Series, curve)
	return s
}

func (g *generator) slurm() verify.Suite {
	return verify.Suite{Name: verify.Slurm, Results: []verify.Result{
		{Check: "requeue", Verdict: verify.Pass, Found: "came back as run 2", Want: "runs again"},
		{Check: "power-down", On: `"><img src=x onerror=alert(1)>`, Verdict: verify.Skip, Why: "javascript:alert(1) \u202Etxt.exe ]]> --> {{.}} " + strings.Repeat("long ", 300)},
	}}
}
