package batch

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// takes says what stands behind an option's name.
type takes int

const (
	// nothing; a value that must be there; one behind = that may be.
	nothing takes = iota
	required
	optional
)

// option is what is known of an option of sbatch's or srun's.
type option struct {
	name   string
	letter byte
	takes  takes
}

// optionTable are the options of a program.
type optionTable struct {
	names   map[string]*option
	letters map[byte]*option
}

// find finds an option by its name or by a beginning that no other has, as
// getopt does.
func (t *optionTable) find(name string) *option {
	if o := t.names[name]; o != nil || name == "" {
		return o
	}
	var found *option
	for full, o := range t.names {
		if !strings.HasPrefix(full, name) || found == o {
			continue
		}
		if found != nil {
			return nil
		}
		found = o
	}
	return found
}

// sorted are the names of options.
func (t *optionTable) sorted() []string { return slices.Sorted(maps.Keys(t.names)) }

// common are options of both sbatch and srun, from the manual pages of Slurm
// 22.05 to 25.11. In the tables a letter stands before a comma, = is a value that
// must be there and ? one that may be. A name behind | is another for the option.
const common = `
A,account= acctg-freq= B,extra-node-info= bb= bbf= b,begin= D,chdir=|workdir M,clusters=|cluster comment= consolidate-segments
C,constraint= container= container-id= contiguous S,core-spec= cores-per-socket= cpu-freq= cpus-per-gpu=
c,cpus-per-task= deadline= delay-boot= d,dependency= m,distribution= e,error= x,exclude= exclusive? export= extra=
G,gpus= gpu-bind= gpu-freq= gpus-per-node= gpus-per-socket= gpus-per-task= gres= gres-flags= h,help hint= H,hold i,input=
J,job-name= L,licenses= mail-type= mail-user= mcs-label= mem= mem-bind=|mem_bind mem-per-cpu= mem-per-gpu= mincpus=
network= nice? k,no-kill? F,nodefile= w,nodelist= N,nodes= n,ntasks= ntasks-per-core= ntasks-per-gpu=
ntasks-per-node=|tasks-per-node ntasks-per-socket= oom-kill-step? open-mode= o,output= O,overcommit s,oversubscribe|share
p,partition= power= prefer= priority= profile= propagate? q,qos= Q,quiet reboot reservation= resv-ports? segment= signal=
sockets-per-node= spread-job stepmgr switches= thread-spec= threads-per-core= t,time= time-min= tmp= tres-bind=
tres-per-task= usage use-min-nodes v,verbose V,version wait-all-nodes= wckey= x11? uid= gid=
container-image= container-mounts= container-workdir= container-name= container-save= container-mount-home no-container-mount-home
container-remap-root no-container-remap-root container-entrypoint no-container-entrypoint container-entrypoint-log
container-writable container-readonly container-env=
`

// The last two lines of common are the options of Pyxis, and of our own plugin.

const sbatchOnly = `
a,array= batch= cluster-constraint= export-file= external get-user-env? ignore-pbs kill-on-invalid-dep= no-requeue parsable
requeue? test-only W,wait wrap=
`

const srunOnly = `
accel-bind= bcast? bcast-exclude= compress? cpu-bind=|cpu_bind X,disable-status epilog= exact external-launcher het-group= I,immediate?
interactive jobid= K,kill-on-bad-exit? l,label mpi= msg-timeout= multi-prog Z,no-allocate overlap E,preserve-env prolog= pty?
r,relative= send-libs? slurmd-debug= task-epilog= task-prolog= T,threads= treewidth= u,unbuffered W,wait= whole
`

// The tables are made when they are first needed.
var (
	sbatchOptions = sync.OnceValue(func() *optionTable { return newOptionTable(common + sbatchOnly) })
	srunOptions   = sync.OnceValue(func() *optionTable { return newOptionTable(common + srunOnly) })
)

func newOptionTable(table string) *optionTable {
	t := &optionTable{names: map[string]*option{}, letters: map[byte]*option{}}
	for entry := range strings.FieldsSeq(table) {
		o := &option{}
		if entry[1] == ',' {
			o.letter, entry = entry[0], entry[2:]
			t.letters[o.letter] = o
		}
		entry, also, _ := strings.Cut(entry, "|")
		switch {
		case strings.HasSuffix(entry, "="):
			o.takes = required
		case strings.HasSuffix(entry, "?"):
			o.takes = optional
		}
		o.name = strings.TrimRight(entry, "=?")
		t.names[o.name] = o
		if also != "" {
			t.names[also] = o
		}
	}
	return t
}
