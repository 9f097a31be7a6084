package batch_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/internal/batch"
)

// TestFields holds the words of srun to those that bash makes of what is written. want are
// the errors of srun's options, each with the place of the word as it is written.
func TestFields(t *testing.T) {
	for name, row := range map[string]struct{ lines, want string }{
		"two_options":               {`ARGS="--ntasks 2 --label"; srun $ARGS hostname --zz`, ""},
		"short_options":             {`ARGS="-l -K1"; srun $ARGS hostname --zz`, ""},
		"short_and_long":            {`ARGS="-l --mpi=none"; srun $ARGS hostname --zz`, ""},
		"container":                 {`C="--container-image /fsx/x.sqsh --container-mounts /fsx/data:/data"; srun $C hostname --zz`, ""},
		"all_blanks":                {"A=' \t-l\n  -K1 '; srun $A hostname --zz", ""},
		"beside_text":               {`A="l -K"; srun -$A''1 hostname --zz`, ""},
		"beside_text_wrong":         {`A="l --zz"; srun -$A''y hostname`, "18 --zzy"},
		"wrong_name":                {`A="--ntasks 2 --lable"; srun $A hostname`, "30 --lable"},
		"wrong_value":               {`A="-l --ntasks x"; srun $A hostname`, "25 --ntasks=x"},
		"program_ends_options":      {`A="-l hostname --zz"; srun $A --y`, ""},
		"quoted_is_one_word":        {`A="--ntasks 2"; srun "$A" hostname`, "22 --ntasks 2"},
		"quotes_do_not_count":       {`A="--comment='a --zz'"; srun $A hostname`, "30 --zz'"},
		"empty":                     {`A=; srun $A --zz hostname`, "13 --zz"},
		"empty_quoted":              {`A=; srun "$A" --zz hostname`, ""},
		"empty_beside_quotes":       {`A=; srun $A"" --zz hostname`, ""},
		"blanks":                    {`A="  "; srun $A --zz hostname`, "17 --zz"},
		"empty_command":             {`A=; $A; B=2 $A; srun --ntasks=$B --zz`, "34 --zz"},
		"empty_before_command":      {`A=; $A srun --zz hostname`, "13 --zz"},
		"empty_default":             {`srun ${A:-} --zz hostname`, ""},
		"default":                   {`srun ${A:---ntasks 2} --zz`, "23 --zz"},
		"default_wrong":             {`srun ${A:---nope 2} hostname`, ""},
		"default_value":             {`srun ${A:---ntasks x} hostname`, ""},
		"default_quoted":            {`srun ${A:-"--ntasks 2"} --zz`, ""},
		"unknown":                   {`srun $A --zz`, ""},
		"unknown_part":              {`A="--ntasks $N --label"; srun $A hostname --zz`, ""},
		"unknown_name":              {`A="--$N 2 --y"; srun $A --zz`, ""},
		"branch":                    {`A="-l"; if t; then A="--zz y"; fi; srun $A hostname`, ""},
		"command":                   {`A="-l $(opts)"; srun $A --zz`, ""},
		"ifs":                       {"IFS=$'\\n'; A='-l --zz'; srun $A hostname", ""},
		"ifs_of_a_command":          {`IFS=, read -r B; A='-l --zz'; srun $A hostname`, "36 --zz"},
		"array":                     {`A=(--ntasks 2 --label); srun "${A[@]}" hostname --zz`, ""},
		"array_wrong":               {`A=(--ntasks 2 --lable); srun "${A[@]}" hostname`, "30 --lable"},
		"array_star":                {`A=(--ntasks 2 --lable); srun ${A[*]} hostname`, "30 --lable"},
		"array_star_quoted":         {`A=(--ntasks 2); srun "${A[*]}" hostname`, "22 --ntasks 2"},
		"array_at_unquoted":         {`A=("-l --zz"); srun ${A[@]} hostname`, "21 --zz"},
		"array_at_quoted":           {`A=("-l --zz" -K1); srun "${A[@]}" hostname`, "25 - --zz"},
		"array_of_split":            {`B="-l --zz"; A=($B); srun "${A[@]}" hostname`, "27 --zz"},
		"array_of_array":            {`B=(-l --zz); A=("${B[@]}" -K1); srun "${A[@]}" hostname`, "38 --zz"},
		"array_empty":               {`A=(); srun "${A[@]}" --zz hostname`, "22 --zz"},
		"array_beside_text":         {`A=(l -K1); srun "-${A[@]}" --zz`, "28 --zz"},
		"array_appended":            {`A=(-l); A+=(--zz); srun "${A[@]}" hostname`, "25 --zz"},
		"array_appended_in_branch":  {`A=(-l); if t; then A+=(--zz); fi; srun "${A[@]}" --y`, ""},
		"array_appended_to_unknown": {`A+=(-l); srun "${A[@]}" --zz`, ""},
		"array_of_function":         {`f() { A+=(hostname); }; A=(-l); f; srun "${A[@]}" --zz`, ""},
		"array_by_index":            {`A=(-l); A[1]=hostname; srun "${A[@]}" --zz`, ""},
		"array_by_name":             {`declare -A A=([b]=-l [a]=-K1); srun "${A[@]}" --zz`, ""},
		"array_element":             {`A=(-l hostname); srun ${A[1]} --zz`, ""},
		"array_slice":               {`A=(-l hostname); srun "${A[@]:1}" --zz`, ""},
		"array_length":              {`A=(-l -K1); srun --ntasks=${#A[@]} hostname`, ""},
		"array_replaced":            {`A=(-l); A=$(pick); srun "${A[@]}" --zz`, ""},
		"whole_command":             {`A="srun --ntasks 2 --zz hostname"; $A`, "36 --zz"},
		"leading_blank":             {`A=" hostname"; srun -l$A --zz`, ""},
		"trailing_blank":            {`A="-l "; srun ${A}--zz hostname`, "15 --zz"},
		"shell_command_in_part":     {`A="-c ;srun --zz"; bash $A`, ""},
		"shell_command":             {`A="bash -c"; $A 'srun --zz hostname'`, "23 --zz"},
	} {
		t.Run(name, func(t *testing.T) {
			script := "#!/bin/bash\n" + row.lines + "\n"
			var got []string
			for _, d := range batch.Check("s", []byte(script), nil, nil).All() {
				if d.Code == "script/option" || d.Code == "script/option-value" {
					what, _, _ := strings.Cut(d.Message, " is no")
					got = append(got, fmt.Sprint(d.Column, " ", what))
				}
			}
			if diff := cmp.Diff(row.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", row.lines, diff)
			}
		})
	}
}
