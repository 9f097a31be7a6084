package cli

import (
	"errors"
	"strings"
	"testing"
)

func TestUpName(t *testing.T) {
	x, y, v := madeOf{name: "x", file: "/w/v.yaml"}, madeOf{name: "y", file: "/w/v.yaml"}, madeOf{name: "v", file: "/w/v.yaml"}
	foreign := madeOf{name: "v", file: "/elsewhere/v.yaml"}
	bad := errors.New("v1.2 cannot be a cluster's name")
	for name, row := range map[string]struct {
		c          upChoice
		want, told string
		err        string
	}{
		"a_new_one":                         {c: upChoice{byFile: "v"}, want: "v"},
		"the_flag":                          {c: upChoice{flag: "z", byFile: "v", known: []madeOf{x}}, want: "z"},
		"a_flag_that_is_no_name":            {c: upChoice{flag: "../z"}, err: `"../z" cannot be`},
		"its_own":                           {c: upChoice{byFile: "v", known: []madeOf{v, x}}, want: "v"},
		"made_under_another_name":           {c: upChoice{byFile: "v", known: []madeOf{x}}, want: "x", told: "cluster x, which was made of this file; --cluster v makes another"},
		"made_while_its_name_was_taken":     {c: upChoice{byFile: "v", known: []madeOf{foreign, x}}, want: "x", told: "cluster x"},
		"its_name_is_that_of_another_file":  {c: upChoice{byFile: "v", known: []madeOf{foreign}}, want: "v"},
		"made_under_two_other_names":        {c: upChoice{byFile: "v", known: []madeOf{x, y}}, err: "2 clusters were made of /w/v.yaml: x, y; say which with --cluster NAME"},
		"of_two_the_variable":               {c: upChoice{env: "y", byFile: "v", known: []madeOf{x, y}}, want: "y"},
		"a_file_that_gives_no_name":         {c: upChoice{badName: bad}, err: bad.Error()},
		"a_file_that_gave_no_name":          {c: upChoice{badName: bad, known: []madeOf{x}}, want: "x", told: "--cluster NAME makes another"},
		"a_cluster_whose_file_nobody_knows": {c: upChoice{byFile: "v", known: []madeOf{{name: "x"}}}, want: "v"},
	} {
		t.Run(name, func(t *testing.T) {
			row.c.file = "/w/v.yaml"
			got, told, err := row.c.cluster()
			if row.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), row.err) {
					t.Fatalf("got %q and error %v, want an error that begins with %q", got, err, row.err)
				}
				return
			}
			if err != nil || got != row.want || !strings.Contains(told, row.told) || (told == "") != (row.told == "") {
				t.Errorf("got %q, %q and error %v, want %q, %q", got, told, err, row.want, row.told)
			}
		})
	}
}
