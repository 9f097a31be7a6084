package batch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/batch"
)

// TestThings holds what is looked for on the nodes: what a script surely needs, and
// nothing that it tests, makes, loads or runs elsewhere.
func TestThings(t *testing.T) {
	kinds := map[batch.What]string{batch.Program: "program", batch.Image: "image", batch.File: "file", batch.Folder: "folder", batch.Function: "function"}
	for name, row := range map[string]struct{ script, want string }{
		"names":                   {"nvidia-smi\nsrun -N2 fi_info -p efa\nmkdir -p a && tar xf b", "program nvidia-smi, program srun, program fi_info, program mkdir, program tar"},
		"builtins_and_functions":  {"f() { hello; }\nf; echo; [ -e a ]; time sleep 1", "program sleep, program hello"},
		"a_function_uncalled":     {"f() { hello; }\n", ""},
		"wrapped":                 {"exec timeout 5 env A=1 hello", "program timeout, program env, program hello"},
		"in_bash":                 {"srun bash -c 'hello; there'", "program srun, program bash, program hello, program there"},
		"paths":                   {"/opt/a/bin/x\n./b.sh", "program /opt/a/bin/x, program ./b.sh"},
		"a_folder":                {"for t in a b; do /opt/nccl-tests/build/$t; done", "folder /opt/nccl-tests/build"},
		"moved":                   {"./a.sh; cd /tmp; ./b.sh", "program ./a.sh"},
		"mpirun":                  {"mpirun -np 4 --map-by node -x PATH hello --x", "program mpirun, program hello"},
		"mpirun_unclear":          {"mpirun --what 4 hello", "program mpirun"},
		"python":                  {"srun python -u train.py --a b.py", "program srun, program python, file train.py"},
		"torchrun":                {"torchrun --nproc-per-node 8 /fsx/train.py", "program torchrun, file /fsx/train.py"},
		"a_module":                {"python3 -m train", "program python3"},
		"asked_for":               {"command -v a && a\nif which b; then b; fi\n[ -x c ] && c\nc", ""},
		"either":                  {"a || b\nc || true", "program a"},
		"after_one_another":       {"cd x && a && b", "program a, program b"},
		"venv":                    {"a; source venv/bin/activate\npython train.py\nnvidia-smi", "program a, file venv/bin/activate, file train.py, program nvidia-smi"},
		"module":                  {"module load cuda\nnvcc; /opt/x/y", "function module, program /opt/x/y"},
		"modules":                 {"module load a\nml b", "function module"},
		"modules_in_a_task":       {"srun bash -c 'module load a'", "program srun, program bash, function module"},
		"modules_sourced":         {". /etc/profile.d/modules.sh\nmodule load a", "file /etc/profile.d/modules.sh"},
		"modules_asked_for":       {"type -t module >/dev/null && module load a\nif type module; then module load b; fi", ""},
		"modules_of_its_own":      {"module() { :; }\nmodule load a", ""},
		"path":                    {"export PATH=/fsx/bin:$PATH\na", "program a /fsx/bin"},
		"path_unclear":            {"PATH=$X/bin:$PATH\na; /b/c", "program /b/c"},
		"no_environment":          {"#SBATCH --export=NONE\na", ""},
		"a_container":             {"srun --container-image=/fsx/a.sqsh --container-mounts=/fsx/d:/d hello /d/x", "program srun, image /fsx/a.sqsh, file /fsx/d"},
		"an_image_of_a_registry":  {"srun --container-image=nvcr.io/a:1 hello", "program srun"},
		"an_image_made":           {"enroot import -o /fsx/i/a.sqsh docker://a\nsrun --container-image=/fsx/i/a.sqsh x", "program enroot, program srun"},
		"an_image_saved":          {"srun --container-image=/fsx/b.sqsh --container-save=/fsx/i/a.sqsh x\nsrun --container-image=/fsx/i/a.sqsh x", "program srun, image /fsx/b.sqsh"},
		"an_image_for_all":        {"#SBATCH --container-image=/fsx/a.sqsh\nhello", "image /fsx/a.sqsh"},
		"data":                    {"a --data-path /fsx/data/x --save-dir /fsx/c --out=/fsx/o", "program a, file /fsx/data/x"},
		"data_fetched":            {"aws s3 cp s3://a /fsx/data/x\na --data-path /fsx/data/x/y", "program aws, program a"},
		"data_tested":             {"[ -d /fsx/data/x ] || exit 1\na --data-path /fsx/data/x", "program a"},
		"a_program_built":         {"gcc -o ./hello hello.c\n./hello\nmake -C /fsx/src\n/fsx/src/run", "program gcc, program make"},
		"defaults_and_unknown":    {"${PYTHON:-python} a; $X; \"$X\"/y", ""},
		"not_a_shell_of_the_user": {"ssh node hello", "program ssh"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, x := range batch.Things("s", []byte("#!/bin/bash\n"+row.script+"\n"), nil) {
				got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", kinds[x.What], x.Name, x.Path)))
			}
			want := strings.TrimSuffix("program /bin/bash, "+row.want, ", ")
			if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
