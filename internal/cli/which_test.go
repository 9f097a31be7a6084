package cli

import (
	"strings"
	"testing"
)

func TestWhichCluster(t *testing.T) {
	u, u2 := madeOf{name: "u", dir: "/work/u"}, madeOf{name: "u2", dir: "/work/u2"}
	outer, inner := madeOf{name: "outer", dir: "/work"}, madeOf{name: "inner", dir: "/work/jobs/deep"}
	home, root := madeOf{name: "athome", dir: "/home/eve"}, madeOf{name: "atroot", dir: "/"}
	nowhere := madeOf{name: "nowhere", dir: ""}
	for name, row := range map[string]struct {
		c    choice
		want string
		err  string
	}{
		"none":                       {c: choice{}, err: "there is no cluster; "},
		"the_only_one":               {c: choice{known: []madeOf{u}, here: "/etc"}, want: "u"},
		"the_flag":                   {c: choice{flag: "x", env: "u2", known: []madeOf{u, u2}, here: "/work/u"}, want: "x"},
		"the_flag_without_a_cluster": {c: choice{flag: "x"}, want: "x"},
		"the_variable":               {c: choice{env: "u2", known: []madeOf{u, u2}, here: "/work/u"}, want: "u2"},
		"a_flag_that_is_no_name":     {c: choice{flag: "../x"}, err: `"../x" cannot be a cluster's name`},
		"a_variable_that_is_no_name": {c: choice{env: "../x"}, err: `MUSTER_CLUSTER: "../x" cannot be a cluster's name`},
		"its_file_is_here":           {c: choice{known: []madeOf{u, u2}, here: "/work/u2"}, want: "u2"},
		"its_file_is_above":          {c: choice{known: []madeOf{u, u2}, here: "/work/u/jobs/a"}, want: "u"},
		"the_nearest_above":          {c: choice{known: []madeOf{outer, inner}, here: "/work/jobs/deep/er"}, want: "inner"},
		"not_beside":                 {c: choice{known: []madeOf{outer, inner}, here: "/work/jobs/other"}, want: "outer"},
		"not_the_beginning_of_a_name": {c: choice{known: []madeOf{u, u2}, here: "/work/u22"},
			err: "there are 2 clusters: u, u2; say which with --cluster NAME, or MUSTER_CLUSTER"},
		"a_home_is_not_above_all": {c: choice{known: []madeOf{home, u}, here: "/home/eve/project", userHome: "/home/eve"}, err: "there are 2 clusters: athome, u"},
		"a_home_itself":           {c: choice{known: []madeOf{home, u}, here: "/home/eve", userHome: "/home/eve"}, want: "athome"},
		"the_root_is_not_above":   {c: choice{known: []madeOf{root, u}, here: "/srv"}, err: "there are 2 clusters: atroot, u"},
		"two_files_in_one_place": {c: choice{known: []madeOf{u, {name: "v", dir: "/work/u"}, u2}, here: "/work/u/jobs"},
			err: "2 clusters were made of files in /work/u: u, v; say which with --cluster NAME"},
		"no_file_known":      {c: choice{known: []madeOf{nowhere, u}, here: ""}, err: "there are 2 clusters: nowhere, u"},
		"one_with_no_file":   {c: choice{known: []madeOf{nowhere, u}, here: "/work/u"}, want: "u"},
		"no_directory_of_us": {c: choice{known: []madeOf{u, u2}}, err: "there are 2 clusters: u, u2"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := row.c.cluster()
			if row.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), row.err) {
					t.Fatalf("got %q and error %v, want an error that begins with %q", got, err, row.err)
				}
				return
			}
			if err != nil || got != row.want {
				t.Errorf("got %q and error %v, want %q", got, err, row.want)
			}
		})
	}
}
