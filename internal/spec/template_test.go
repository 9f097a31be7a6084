package spec_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

const template = `Region: ${AWS_REGION}
Image:
  Os: ubuntu2204
HeadNode:
  InstanceType: ${HEAD} # not ${COMMENT}
  Networking:
    SubnetId: ${SUBNET}
Scheduling:
  Scheduler: slurm
  SlurmQueues:
    - Name: a
      Networking:
        SubnetIds: [${SUBNET}]
      ComputeResources:
        - Name: ${A}
          InstanceType: ${INSTANCE}
          MinCount: ${COUNT}
          MaxCount: ${COUNT}
        - Name: ${B}
          InstanceType: ${INSTANCE}
`

// TestOpenText_reports_a_template_once holds that a template is one error, with names, lines and a hint.
func TestOpenText_reports_a_template_once(t *testing.T) {
	for _, row := range []struct{ name, text, want, hint string }{
		{"variables", template, "1:9 this file is a template: ${AWS_REGION} (line 1), ${HEAD} (line 5), ${SUBNET} (lines 7, 13), ${A} (line 15), ${INSTANCE} (lines 16, 20), ${COUNT} (lines 17, 18), ${B} (line 19) are not filled in",
			"--set AWS_REGION=VALUE or the environment fills ${AWS_REGION}; or fill all variables: envsubst < c.yaml > filled.yaml"},
		{"jinja", good("Os: ubuntu2204", "Os: {{ os }}"), "3:7 this file is a template: {{ os }} (line 3) is not filled in", "muster fills nothing but ${NAME}"},
		{"jinja_block", "{% if x %}\n" + good("", "") + "{% endif %}\n", "1:1 this file is a template: {% if x %} (line 1), {% endif %} (line 22) are not filled in", "muster fills nothing but ${NAME}"},
		{"angle", good("subnet-0123456789abcdef0", "<your-subnet>"), "7:15 this file is a template: <your-subnet> (lines 7, 13) is not filled in", "muster fills nothing but ${NAME}"},
		{"angle_in_text", good("subnet-0123456789abcdef0", "subnet-<id>"), "7:22 this file is a template: <id> (lines 7, 13) is not filled in", "muster fills nothing but ${NAME}"},
		{"angle_before_a_brace", good("us-east-1", "us-east-1\nSharedStorage: [{Name: a, MountDir: /m, StorageType: Efs, EfsSettings: {FileSystemId: <fs>}}]"), "2:87 this file is a template: <fs> (line 2) is not filled in", "muster fills nothing but ${NAME}"},
		{"terraform", good("us-east-1", "${var.region}"), "1:9 this file is a template: ${var.region} (line 1) is not filled in", "muster fills nothing but ${NAME}"},
		{"terraform_ids", good("subnet-0123456789abcdef0", "${aws_subnet.head[0].id}"), "7:15 this file is a template: ${aws_subnet.head[0].id} (lines 7, 13) is not filled in", "muster fills nothing but ${NAME}"},
		{"default", good("us-east-1", "${AWS_REGION:-us-east-1}"), "1:9 this file is a template: ${AWS_REGION:-us-east-1} (line 1) is not filled in", "muster fills nothing but ${NAME}"},
		{"plain_variable", good("us-east-1", "$REGION"), "1:9 this file is a template: $REGION (line 1) is not filled in",
			"write ${REGION}, which --set or the environment fills; or fill all variables: envsubst < c.yaml > filled.yaml"},
		{"command", good("subnet-0123456789abcdef0", "$(terraform output -raw subnet)"), "7:15 this file is a template: $(terraform output -raw subnet) (lines 7, 13) is not filled in", "muster fills nothing but ${NAME}"},
		{"percent", good("us-east-1", "%REGION%"), "1:9 this file is a template: %REGION% (line 1) is not filled in", "muster fills nothing but ${NAME}"},
		{"at", good("us-east-1", "'@REGION@'"), "1:10 this file is a template: @REGION@ (line 1) is not filled in", "muster fills nothing but ${NAME}"},
		{"erb", good("us-east-1", "<%= region %>"), "1:9 this file is a template: <%= region %> (line 1) is not filled in", "muster fills nothing but ${NAME}"},
		{"parentheses", good("us-east-1", "((region))"), "1:9 this file is a template: ((region)) (line 1) is not filled in", "muster fills nothing but ${NAME}"},
		{"braces", good("us-east-1", "{region}"), "1:9 this file is a template: {region} (line 1) is not filled in", "muster fills nothing but ${NAME}"},
		{"words", good("us-east-1", "CHANGE_ME") + "Iam:\n  ResourcePrefix: your-prefix-here\n", "1:9 this file is a template: CHANGE_ME (line 1), your-prefix-here (line 22) are not filled in", "muster fills nothing but ${NAME}"},
		{"more_words", good("c5.large", "TODO"), "16:25 this file is a template: TODO (lines 16, 20) is not filled in", "muster fills nothing but ${NAME}"},
		{"number", good("MaxCount: 1", "MaxCount: REPLACE_ME"), "18:21 this file is a template: REPLACE_ME (line 18) is not filled in", "muster fills nothing but ${NAME}"},
		{"words_behind_ids", good("subnet-0123456789abcdef0", "subnet-YOUR_SUBNET"), "7:15 this file is a template: subnet-YOUR_SUBNET (lines 7, 13) is not filled in", "muster fills nothing but ${NAME}"},
		{"17_letters", good("subnet-0123456789abcdef0", "subnet-xxxxxxxxxxxxxxxxx"), "7:15 this file is a template: subnet-xxxxxxxxxxxxxxxxx (lines 7, 13) is not filled in", "muster fills nothing but ${NAME}"},
		{"8_letters", good("subnet-0123456789abcdef0", "subnet-yyyyyyyy"), "7:15 this file is a template: subnet-yyyyyyyy (lines 7, 13) is not filled in", "muster fills nothing but ${NAME}"},
		{"digits_and_letters", good("subnet-0123456789abcdef0", "subnet-0abxxxxx"), "7:15 this file is a template: subnet-0abxxxxx (lines 7, 13) is not filled in", "muster fills nothing but ${NAME}"},
		{"all_kinds", good("us-east-1", "${R}") + "SharedStorage: [{Name: $N, MountDir: /m, StorageType: Efs, EfsSettings: {FileSystemId: fs-xxxxxxxx}}]\n",
			"1:9 this file is a template: ${R} (line 1), $N (line 21), fs-xxxxxxxx (line 21) are not filled in", "--set R=VALUE or the environment fills ${R}; or fill all"},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := spec.OpenText("c.yaml", []byte(row.text), spec.Options{AWS: true})
			f.Finish()
			all := f.Problems.All()
			if len(all) != 1 || f.Cluster != nil {
				t.Fatal(text(t, f.Problems))
			}
			got := all[0]
			if line := where(got) + " " + got.Message; line != row.want || got.Code != "file/template" || !strings.HasPrefix(got.Hint, row.hint) {
				t.Errorf("got  %s %s (%s)\nwant %s", got.Code, line, got.Hint, row.want)
			}
		})
	}
}

// TestOpenText_reports_other_errors_of_a_template holds that a template's own mistakes are still found.
func TestOpenText_reports_other_errors_of_a_template(t *testing.T) {
	f := spec.OpenText("c.yaml", []byte(strings.Replace(template, "  Os:", "  Oss:", 1)), spec.Options{AWS: true})
	f.Finish()
	codes := ""
	for _, d := range f.Problems.All() {
		codes += d.Code + " "
	}
	if codes != "file/template schema/unknown schema/required " && codes != "file/template schema/unknown " {
		t.Error(text(t, f.Problems))
	}
}

// TestOpenText_takes_other_texts_for_no_template holds what is no template.
func TestOpenText_takes_other_texts_for_no_template(t *testing.T) {
	const tags = "\nTags:\n  - Key: k\n    Value: "
	actions := func(args string) string {
		return good("  Networking:\n    SubnetId", "  CustomActions:\n    OnNodeConfigured:\n      Script: s3://b/s.sh\n      Args:\n"+args+"\n  Networking:\n    SubnetId")
	}
	for _, row := range []struct{ name, text string }{
		{"filled", good("", "")},
		{"comment", good("", "") + "# ${A} {{ b }} <c>\n"},
		{"less_than", good("", "") + tags + "a<b and c>d"},
		{"generic", good("", "") + tags + "List<int>"},
		{"address", good("", "") + tags + "\"Jane <jane@example.com>\""},
		{"in_a_sentence", good("", "") + tags + "\"team <ml> rocks\""},
		{"begins_with_a_tag", good("", "") + tags + "\"<b> is bold\""},
		{"other_braces", good("", "") + tags + "\"${AWS::Region} %{x} {x} $x\""},
		{"resolve", good("", "") + tags + "\"{{resolve:ssm:/a}}\""},
		{"argument", actions("        - ${HOME}\n        - '{{.Names}}'\n        - <in>")},
		{"whole_tags", good("", "") + "\nTags: [{Key: TODO, Value: $HOME}]\n"},
		{"whole_tag_in_lines", good("", "") + tags + "$(date)"},
		{"whole_settings", good("  SlurmQueues:", "  SlurmSettings:\n    CustomSlurmSettings:\n    - MailProg: $HOME\n    - JobCompLoc: \"{x}\"\n  SlurmQueues:")},
		{"whole_attributes", good("", "") + "\nDevSettings: {Cookbook: {ExtraChefAttributes: TODO}}\n"},
		{"not_whole", good("", "") + "Iam:\n  ResourcePrefix: a-CHANGE_ME_b\n"},
		{"commented", good("us-east-1", "us-east-1 # CHANGE_ME $REGION %REGION% subnet-xxxxxxxx")},
		{"arguments_in_braces", good("  Networking:\n    SubnetId", "  CustomActions: {OnNodeConfigured: {Script: s3://b/s.sh, Args: [$HOME, CHANGE_ME]}}\n  Networking:\n    SubnetId")},
		{"argument_at_the_key's_column", actions("      - ${HOME}")},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := spec.OpenText("c.yaml", []byte(row.text), spec.Options{AWS: true})
			f.Finish()
			if f.Problems.HasErrors() {
				t.Error(text(t, f.Problems))
			}
		})
	}
	merge := spec.OpenText("c.yaml", []byte(good("Os:", "<<: &a {}\n  Os:")), spec.Options{AWS: true})
	if all := merge.Problems.All(); len(all) == 0 || all[0].Code != "yaml/merge" {
		t.Error(text(t, merge.Problems))
	}
}

// TestVariables_fill holds what is filled in, and with what.
func TestVariables_fill(t *testing.T) {
	environment := map[string]string{"A": "from environment", "EMPTY": "", "LINES": "a\nb"}
	for _, row := range []struct {
		name, text, want, unused string
		set                      map[string]string
		problems                 int
	}{
		{name: "environment", text: "k: ${A}-${A}\n", want: "k: from environment-from environment\n"},
		{name: "set_wins", text: "k: ${A}\n", set: map[string]string{"A": "x"}, want: "k: x\n"},
		{name: "unset", text: "k: ${B}\n", want: "k: ${B}\n"},
		{name: "empty", text: "k: ${EMPTY}\n", want: "k: ${EMPTY}\n"},
		{name: "several_lines", text: "k: ${LINES}\n", want: "k: ${LINES}\n", problems: 1},
		{name: "no_braces", text: "k: $A\n", want: "k: $A\n"},
		{name: "comment", text: "k: v # ${A}\n", want: "k: v # ${A}\n"},
		{name: "hash_in_quotes", text: "k: ' # ${A}'\n", want: "k: ' # from environment'\n"},
		{name: "argument", text: "Args:\n  - ${A}\nk: ${A}\n", want: "Args:\n  - ${A}\nk: from environment\n"},
		{name: "argument_set", text: "Args: [\"${A}\"]\n", set: map[string]string{"A": "x"}, want: "Args: [\"x\"]\n"},
		{name: "unused", text: "k: v\n", set: map[string]string{"C": "x"}, want: "k: v\n", unused: "C"},
		{name: "value_is_not_filled_again", text: "k: ${B}\n", set: map[string]string{"B": "${A}"}, want: "k: ${A}\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := spec.Variables{Set: row.set, Environment: func(name string) (string, bool) {
				value, ok := environment[name]
				return value, ok
			}}
			got, problems := v.Fill("c.yaml", []byte(row.text))
			if string(got) != row.want || problems.Count(diag.Error) != row.problems || strings.Join(v.Unused(), " ") != row.unused {
				t.Errorf("got %q, want %q; %v; unused %v", got, row.want, problems.All(), v.Unused())
			}
		})
	}
}

// TestTemplate_takes_ids_in_angle_brackets holds that a file of another place than AWS may have <id> and words, and no ${NAME}.
func TestTemplate_takes_ids_in_angle_brackets(t *testing.T) {
	for text, want := range map[string]bool{good("subnet-0123456789abcdef0", "<id>"): false, good("subnet-0123456789abcdef0", "CHANGE_ME"): false, good("us-east-1", "${var.region}"): true, template: true, good("", ""): false} {
		if got := spec.Template("c.yaml", []byte(text), true).HasErrors(); got != want {
			t.Errorf("%v, want %v:\n%s", got, want, text)
		}
	}
}

// good is the template filled in, with another change.
func good(from, to string) string {
	filled := strings.NewReplacer("${AWS_REGION}", "us-east-1", "${HEAD}", "m5.large", "${SUBNET}", "subnet-0123456789abcdef0",
		"${A}", "a", "${B}", "b", "${INSTANCE}", "c5.large", "${COUNT}", "1", " # not ${COMMENT}", "").Replace(template)
	if from == "" {
		return filled
	}
	return strings.ReplaceAll(filled, from, to)
}

func where(d diag.Diagnostic) string { return fmt.Sprintf("%d:%d", d.Line, d.Column) }
