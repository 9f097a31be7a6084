package batch_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/batch"
	"github.com/muster-hpc/muster/internal/diag"
)

const job = "#!/bin/bash\n#SBATCH --nodes=%d\n%s\n"

// factsOfType are those of a cluster with one queue of one instance type.
func factsOfType(instance string, efa bool) *batch.Facts {
	if instance == "" {
		return nil
	}
	r := batch.Resource{Name: "nodes", Count: 4, InstanceTypes: strings.Split(instance, ","), EFA: efa}
	return &batch.Facts{Filed: true, Queues: []batch.Queue{{Name: "q", Default: true, Resources: []batch.Resource{r}}}}
}

// TestSettings_depend_on_the_machines says what is known of a variable on types
// with and without EFA, RDMA and NVLink, and where the cluster is not known.
func TestSettings_depend_on_the_machines(t *testing.T) {
	for _, row := range []struct {
		name, instance string
		efa            bool
		nodes          int
		line           string
		want           []string
	}{
		{"rdma_without_rdma", "g5.48xlarge", true, 2, "export FI_EFA_USE_DEVICE_RDMA=1", []string{"error script/env-aborts"}},
		{"rdma_with_rdma", "p5.48xlarge", true, 2, "export FI_EFA_USE_DEVICE_RDMA=1", []string{"warning script/env-unneeded"}},
		{"rdma_not_known", "", false, 2, "export FI_EFA_USE_DEVICE_RDMA=1", []string{"warning script/env-unneeded"}},
		{"no_rdma_on_purpose", "g5.48xlarge", true, 2, "export FI_EFA_USE_DEVICE_RDMA=0", nil},
		{"peers_without_nvlink", "g6.48xlarge", true, 2, "export NCCL_P2P_DISABLE=1", nil},
		{"peers_with_nvlink", "p4d.24xlarge", true, 2, "export NCCL_P2P_DISABLE=1", []string{"warning script/env-harmful"}},
		{"peers_not_known", "", false, 2, "export NCCL_P2P_DISABLE=1", []string{"warning script/env-harmful"}},
		{"switches_of_older_gpus", "p4d.24xlarge", true, 2, "export NCCL_NVLS_ENABLE=0", nil},
		{"sockets_without_efa", "g6.48xlarge", false, 2, "export NCCL_NET=Socket NCCL_NSOCKS_PERTHREAD=4", nil},
		{"sockets_on_one_node", "p5.48xlarge", true, 1, "export NCCL_NET=Socket NCCL_NSOCKS_PERTHREAD=4", nil},
		{"sockets_not_known", "", false, 2, "export NCCL_NET=Socket", []string{"warning script/env-harmful"}},
		{"efa_off", "p5.48xlarge", false, 2, "export FI_PROVIDER=efa", []string{"error script/efa"}},
		{"infiniband_not_known", "", false, 2, "export NCCL_IB_HCA=mlx5", nil},
		{"value_not_known", "p5.48xlarge", true, 2, "export NCCL_NET=$X NCCL_P2P_DISABLE=$X FI_PROVIDER=$X", nil},
		{"name_only", "p5.48xlarge", true, 2, "export NCCL_ALGO NCCL_NET FI_PROVIDER", nil},
		{"device_of_one_family", "p5.48xlarge", true, 2, "export NCCL_SOCKET_IFNAME=ens5", nil},
		{"device_of_several_families", "p5.48xlarge,p4d.24xlarge", true, 2, "export NCCL_SOCKET_IFNAME==ens5", []string{"info script/ifname"}},
		{"mpi", "p5.48xlarge", true, 2, "mpiexec -genv NCCL_NET Socket hostname", []string{"warning script/env-harmful"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for _, d := range batch.Check("s", fmt.Appendf(nil, job, row.nodes, row.line), nil, factsOfType(row.instance, row.efa)).All() {
				if strings.HasPrefix(d.Code, "script/env") || d.Code == "script/efa" || d.Code == "script/ifname" {
					got = append(got, d.Severity.String()+" "+d.Code)
				}
			}
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSettings_suggest_what_was_meant holds the suggestions: a wrong one is
// worse than none.
func TestSettings_suggest_what_was_meant(t *testing.T) {
	for name, want := range map[string]string{
		"NCCL_DEBGU":                     "NCCL_DEBUG",
		"NCCL_DEBUG_SUBSYSTEM":           "NCCL_DEBUG_SUBSYS",
		"NCCL_SOCKETIFNAME":              "NCCL_SOCKET_IFNAME",
		"NCCL_SOCKET_IF_NAME":            "NCCL_SOCKET_IFNAME",
		"NCCL_NVLS":                      "NCCL_NVLS_ENABLE",
		"NCCL_P2P_DISABLED":              "NCCL_P2P_DISABLE",
		"FI_EFA_FORKSAFE":                "FI_EFA_FORK_SAFE",
		"FI_PROVIDERS":                   "FI_PROVIDER",
		"TORCH_NCCL_HEARTBEAT_TIMEOUT":   "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC",
		"TORCH_NCCL_ASYNC_ERROR_HANDLNG": "TORCH_NCCL_ASYNC_ERROR_HANDLING",
		"NCCL_LOG_DIRECTORY":             "",
		"NCCL_WHATEVER":                  "",
		"FI_MY_OWN":                      "",
	} {
		list := batch.Check("s", fmt.Appendf(nil, job, 2, "export "+name+"=1"), nil, nil)
		hint := ""
		for _, d := range list.All() {
			if d.Code == "script/env-unknown" {
				hint = strings.TrimSuffix(strings.TrimPrefix(d.Hint, "did you mean "), "?")
			}
		}
		if want == "" && !strings.HasPrefix(hint, "remove it") || want != "" && hint != want {
			t.Errorf("%s: %q is suggested, want %q", name, hint, want)
		}
	}
}

// TestTable_of_settings holds the table to the statuses, scopes and sources that
// its head explains, and to its order.
func TestTable_of_settings(t *testing.T) {
	data, err := os.ReadFile("env.tsv")
	if err != nil {
		t.Fatal(err)
	}
	head := ""
	last := ""
	rows := map[string]int{}
	name := regexp.MustCompile(`^[A-Z][A-Z0-9_]*\*?$`)
	for n, line := range strings.Split(strings.TrimSuffix(string(data), "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			head += line
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != 7 || !name.MatchString(cells[0]) {
			t.Fatalf("line %d: %q", n+1, line)
		}
		status, _, _ := strings.Cut(cells[1], ":")
		for _, word := range []string{status, cells[3], cells[6]} {
			if !strings.Contains(head, word) {
				t.Errorf("line %d: the head does not explain %q", n+1, word)
			}
		}
		if cells[0] < last {
			t.Errorf("line %d: %s stands behind %s", n+1, cells[0], last)
		}
		if status != "ok" && cells[5] == "" {
			t.Errorf("line %d: %s does not say why", n+1, cells[0])
		}
		if slices.Contains([]string{"removed", "renamed"}, status) && cells[4] == "-" {
			t.Errorf("line %d: %s does not say since when", n+1, cells[0])
		}
		if strings.ToUpper(cells[2]) == cells[2] && strings.ToLower(cells[2]) != cells[2] {
			t.Errorf("line %d: values are compared in lower case: %q", n+1, cells[2])
		}
		last = cells[0]
		rows[cells[0]]++
	}
	for family, least := range map[string]int{"NCCL_": 290, "FI_EFA_": 45, "OFI_NCCL_": 40, "TORCH_NCCL_": 25} {
		n := 0
		for name := range rows {
			if strings.HasPrefix(name, family) {
				n++
			}
		}
		if n < least {
			t.Errorf("%d variables begin with %s; there are at least %d", n, family, least)
		}
	}
}

// TestSettings_of_releases holds that what the user guides of NCCL, libfabric
// and the EFA plugin name is not called unknown.
func TestSettings_of_releases(t *testing.T) {
	names := strings.Fields(`NCCL_SOCKET_FAMILY NCCL_SOCKET_RETRY_CNT NCCL_CROSS_NIC NCCL_OOB_NET_IFNAME NCCL_UID_STAGGER_RATE
		NCCL_NET NCCL_TUNER_CONFIG_FILE NCCL_PROFILER_PLUGIN NCCL_ENV_PLUGIN NCCL_CONF_FILE NCCL_DEBUG_SUBSYS NCCL_DEBUG_TIMESTAMP_FORMAT
		NCCL_COLLNET_ENABLE NCCL_CTA_POLICY NCCL_NETDEVS_POLICY NCCL_TOPO_DUMP_FILE NCCL_SET_THREAD_NAME NCCL_CHECK_POINTERS
		NCCL_MEM_SYNC_DOMAIN NCCL_CUMEM_HOST_ENABLE NCCL_NET_GDR_C2C NCCL_NET_SHARED_BUFFERS NCCL_PXN_DISABLE NCCL_RUNTIME_CONNECT
		NCCL_GRAPH_REGISTER NCCL_LOCAL_REGISTER NCCL_WIN_ENABLE NCCL_SET_STACK_SIZE NCCL_COMM_BLOCKING NCCL_CGA_CLUSTER_SIZE
		NCCL_MAX_CTAS NCCL_NVLS_ENABLE NCCL_MNNVL_ENABLE NCCL_RAS_ADDR NCCL_LAUNCH_ORDER_IMPLICIT NCCL_SHM_USE_CUDA_MEMCPY
		FI_EFA_IFACE FI_EFA_USE_HUGE_PAGE FI_EFA_RECVWIN_SIZE FI_HMEM_CUDA_USE_GDRCOPY FI_MR_CACHE_MONITOR FI_LOG_PROV FI_SHM_USE_XPMEM
		OFI_NCCL_EAGER_MAX_SIZE OFI_NCCL_NIC_DUP_CONNS OFI_NCCL_TUNER_TYPE TORCH_NCCL_RANKS_PER_ROOT TORCH_FR_DUMP_TEMP_FILE
		TORCH_NCCL_DEBUG_INFO_TEMP_FILE TORCH_CUDA_ARCH_LIST TORCH_DISABLE_SHARE_RDZV_TCP_STORE PYTORCH_TUNABLEOP_ENABLED`)
	for _, name := range names {
		for _, d := range batch.Check("s", fmt.Appendf(nil, job, 2, "export "+name+"=x"), nil, nil).All() {
			if d.Code == "script/env-unknown" {
				t.Errorf("%s: %s", name, d.Message)
			}
		}
	}
}

// TestSecrets_are_not_shown looks for them in all problems of scripts, also in
// those that are about something else.
func TestSecrets_are_not_shown(t *testing.T) {
	const key = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
	for _, line := range []string{
		"export NCCL_IFNAME=eth0 WANDB_API_KEY=" + key,
		"export NCCL_ALGO=Ring; srun wandb login --api-key=" + key + " && sudo ls /fsx9/" + key,
		"#SBATCH --export=ALL,NCCL_IFNAME=eth0,MY_TOKEN=" + key,
	} {
		list := batch.Check("s", fmt.Appendf(nil, job, 2, line), nil, nil)
		if !slices.ContainsFunc(list.All(), func(d diag.Diagnostic) bool { return d.Code == "script/secret" }) || list.Len() < 2 {
			t.Errorf("%s: %v", line, list.All())
		}
		if text := said(t, list); strings.Contains(text, key) {
			t.Errorf("the secret is shown:\n%s", text)
		}
	}
}
