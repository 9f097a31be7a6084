package fleet_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/muster-hpc/muster/internal/fleet"
	"github.com/muster-hpc/muster/internal/verify/scan"
)

func vitals(change func(*fleet.Vitals)) fleet.Vitals {
	v := fleet.Vitals{
		Mounts: []scan.Answer{{Dir: "/home", Mounted: true, Size: 1 << 40, Free: 1}, {Dir: "/fsx", Mounted: true, Size: 1 << 40}},
		Disks:  []scan.Answer{{Dir: "/", Mounted: true, Size: 100 << 30, Free: 50 << 30, Inodes: 1000, FreeInodes: 900}},
		GPUs:   8, WantGPUs: 8, EFA: 32, WantEFA: 32, Boot: "one", Now: time.Unix(1e9, 0),
	}
	change(&v)
	return v
}

func TestWhatIsWrongTwiceInARow(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*fleet.Vitals)
		want   string
		blind  bool
	}{
		{"well", func(*fleet.Vitals) {}, "", false},
		{"lost_mount", func(v *fleet.Vitals) { v.Mounts[1] = scan.Answer{Dir: "/fsx"} }, "/fsx is not mounted any more", false},
		{"never_mounted", func(v *fleet.Vitals) { v.Mounts = append(v.Mounts, scan.Answer{Dir: "/new"}) }, "", true},
		{"hung_mount", func(v *fleet.Vitals) { v.Mounts[1].Silent = true }, "/fsx does not answer", false},
		{"stale_mount", func(v *fleet.Vitals) { v.Mounts[1].Error = "Stale file handle" }, "/fsx: stale file handle", false},
		{"no_stat", func(v *fleet.Vitals) { v.Mounts[1].Error = "blind: no stat" }, "", true},
		{"no_right_to_look", func(v *fleet.Vitals) { v.Mounts[1].Error = "Permission denied" }, "", true},
		{"full_share_is_no_fault_of_the_node", func(v *fleet.Vitals) { v.Mounts[1].Free = 0 }, "", false},
		{"full_disk", func(v *fleet.Vitals) { v.Disks[0].Free = 0 }, "/ is full", false},
		{"no_scratch_here", func(v *fleet.Vitals) { v.Disks = append(v.Disks, scan.Answer{Dir: "/scratch", Error: "No such file"}) }, "", true},
		{"lost_disk", func(v *fleet.Vitals) { v.Disks[0] = scan.Answer{Dir: "/"} }, "/ is not mounted any more", false},
		{"a_little_left", func(v *fleet.Vitals) { v.Disks[0].Free = 2 << 30 }, "", false},
		{"no_inodes", func(v *fleet.Vitals) { v.Disks[0].FreeInodes = 0 }, "/ has no inodes left", false},
		{"lost_GPU", func(v *fleet.Vitals) { v.GPUs = 7 }, "the kernel has 7 GPUs of 8", false},
		{"lost_EFA", func(v *fleet.Vitals) { v.EFA = 31 }, "the kernel has 31 EFA devices of 32", false},
		{"faulty_GPU", func(v *fleet.Vitals) { v.Faults = []string{"GPU 3 is lost"} }, "GPU 3 is lost", false},
		{"silent_driver", func(v *fleet.Vitals) { v.Unseen = []string{"no nvidia-smi"} }, "", true},
		{"more_GPUs", func(v *fleet.Vitals) { v.GPUs = 9 }, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, memory := fleet.Sick(vitals(func(*fleet.Vitals) {}), fleet.Memory{})
			spoilt := func(v *fleet.Vitals) { c.change(v) }
			first, memory := fleet.Sick(vitals(spoilt), memory)
			if len(first) > 0 {
				t.Fatalf("one look is enough: %q", first)
			}
			second, last := fleet.Sick(vitals(func(v *fleet.Vitals) { spoilt(v); v.Now = v.Now.Add(5 * time.Minute) }), memory)
			if got := strings.Join(second, "; "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if c.blind != (len(last.Blind) > 0) {
				t.Errorf("blind: %q", last.Blind)
			}
			if well, _ := fleet.Sick(vitals(func(*fleet.Vitals) {}), last); len(well) > 0 {
				t.Errorf("a node that is well again: %q", well)
			}
			if late, _ := fleet.Sick(vitals(func(v *fleet.Vitals) { spoilt(v); v.Now = v.Now.Add(9 * time.Hour) }), memory); len(late) > 0 {
				t.Errorf("hours later: %q", late)
			}
			if reborn, _ := fleet.Sick(vitals(func(v *fleet.Vitals) { spoilt(v); v.Boot = "two" }), memory); len(reborn) > 0 {
				t.Errorf("after a boot: %q", reborn)
			}
		})
	}
}

func TestHealthReason(t *testing.T) {
	reason := fleet.HealthReason([]string{`/fsx: "stale"`, "/ is full"})
	if reason != "muster: health: /fsx: 'stale'; / is full" || !fleet.Ours(reason) || !fleet.ByItself(reason) || len(fleet.HealthReason([]string{strings.Repeat("x", 900)})) > 300 {
		t.Errorf("got %q", reason)
	}
	if !fleet.ByItself(fleet.KernelReason("Xid")) || fleet.ByItself("muster: job 7: slow") || fleet.ByItself("mine") {
		t.Error("a node's own reasons are not told from others")
	}
	for _, text := range []string{fleet.HealthReason([]string{strings.Repeat("ä", 300)}), fleet.VerifyReason("x", strings.Repeat("€", 300)), fleet.VerifyReason("a", "\xff")} {
		if !utf8.ValidString(text) || len(text) > 230 {
			t.Errorf("Slurm would keep half a letter of %q", text)
		}
	}
	if n := fleet.TakenOut([]string{reason, "mine", fleet.KernelReason("x"), fleet.VerifyReason("gpu-count", "7"), "muster: job 7: slow", ""}); n != 3 {
		t.Errorf("%d nodes are taken out of service", n)
	}
	if n := fleet.Unhealthy([]string{reason, "mine", fleet.KernelReason("x")}); n != 1 || fleet.Crowd(5) != 3 || fleet.Crowd(80) != 8 {
		t.Errorf("%d nodes, and %d of 80", n, fleet.Crowd(80))
	}
}
