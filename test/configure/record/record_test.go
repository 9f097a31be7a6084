package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes a cookbook of files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, "cookbooks", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestWalk holds that recipes, resources of several systems, methods and templates are
// followed from one recipe, and nothing else.
func TestWalk(t *testing.T) {
	root := write(t, map[string]string{
		"aws-parallelcluster-x/attributes/x.rb": "default['cluster']['dir'] = '/opt/x'\ndefault['cluster']['file'] = \"#{node['cluster']['dir']}/file\"\n",
		"aws-parallelcluster-x/recipes/start.rb": `include_recipe 'aws-parallelcluster-x::parts' if node['cluster']['a'] == 'b'
clock 'start the clock' do
  action :enable
end
`,
		"aws-parallelcluster-x/recipes/config/parts.rb": `return if on_docker?
case node['cluster']['node_type']
when 'HeadNode'
  sysctl 'net.x' do
    value 1
    not_if { some_check? }
  end
when 'LoginNode'
  %w(one two).each do |name|
    service name do
      action %i(enable start)
    end
  end
else
  raise "no"
end
bash 'not this' do
  code <<-CODE
    service 'neither' do
  CODE
end unless node['cluster']['off']
template node['cluster']['file'] do
  source 'slurm.conf.erb'
end
give_key
`,
		"aws-parallelcluster-x/recipes/unused.rb":                  "package 'unused'\n",
		"aws-parallelcluster-x/libraries/keys.rb":                  "def give_key\n  file '/etc/key' do\n    mode '0600'\n  end\nend\n",
		"aws-parallelcluster-x/templates/x/slurm.conf.erb":         "# a comment\n[Part]\nKey=<%= value %>\n",
		"aws-parallelcluster-x/resources/clock/partial/_common.rb": "action :setup do\n  package 'chrony'\nend\naction :enable do\n  service clock_service do\n    action :start\n  end\nend\n",
		"aws-parallelcluster-x/resources/clock/clock_a.rb":         "use 'partial/_common'\ndef clock_service\n  'chronyd'\nend\n",
		"aws-parallelcluster-x/resources/clock/clock_u.rb":         "use 'partial/_common'\ndef clock_service\n  'chrony'\nend\n",
		"aws-parallelcluster-tests/resources/clock/mock.rb":        "action :enable do\n  package 'mock'\nend\n",
	})
	w := newWalk(root)
	w.recipe("aws-parallelcluster-x::start")
	if w.err != nil {
		t.Fatal(w.err)
	}
	var got []string
	for _, i := range w.found {
		got = append(got, strings.ReplaceAll(i.line(), "\t", "|"))
	}
	want := []string{
		"x::parts|sysctl|net.x|1|HeadNode; not some_check?",
		"x::parts|service|one two|enable start|LoginNode",
		"x::parts|bash|not this||not off",
		"x::parts|template|/opt/x/file||",
		"template slurm.conf|setting|Part/Key|…|",
		"x/keys give_key|file|/etc/key||",
		"x::start|clock|start the clock||",
		"x/clock/_common enable|service|chronyd|start|",
		"x/clock/_common enable|service|chrony|start|",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestUserData(t *testing.T) {
	root := t.TempDir()
	for _, node := range []string{"head", "compute", "login"} {
		text := "Content-Type: text/cloud-config; charset=us-ascii\n\npackage_update: false\nwrite_files:\n  - path: ${Dir}/boot.sh\n    content: |\n      # shutdown\n      function end\n      {\n        shutdown -h now\n      }\n"
		if node == "head" {
			text += "Content-Type: text/x-shellscript\n\n${!CINC} aws-parallelcluster-entrypoints::init\n"
		}
		if err := os.MkdirAll(filepath.Join(root, node+"_node"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, node+"_node", "user_data.sh"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := userData(root)
	if err != nil {
		t.Fatal(err)
	}
	const all = "head, compute, login"
	want := []item{
		{"user data, cloud-config", "key", "package_update", "false", all},
		{"user data, cloud-config", "key", "write_files", "", all},
		{"user data, cloud-config", "file", "Dir/boot.sh", "", all},
		{"user data, cloud-config", "function", "end", "", all},
		{"user data, cloud-config", "command", "shutdown", "end", all},
		{"user data, x-shellscript", "command", "entrypoints::init", "", "head"},
	}
	if diff := cmp.Diff(want, found, cmp.AllowUnexported(item{})); diff != "" {
		t.Error(diff)
	}
}

func TestDNA(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"cluster_stack.py":     "  dna = {\n    \"cluster\": {\n      \"stack_name\": self.name,\n      **({\"only_here\": x} if \"Not\" in x else {}),\n    },\n    \"not_this\": 1,\n  }\n",
		"cdk_builder_utils.py": "def other():\n    return {\"nor_this\": 1}\n\n\ndef get_x_dna_json_for_head_node(config):\n    return {\n        \"dns_domain\": 1,\n    }\n",
		"queues_stack.py":      "\"cluster\": {\n  \"stack_name\": 1,\n}\n",
		"login_nodes_stack.py": "\"cluster\": {\n  \"pool_name\": 1,\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := dna(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []item{
		{"dna.json", "setting", "stack_name", "", "head, compute"}, {"dna.json", "setting", "only_here", "", "head"},
		{"dna.json", "setting", "dns_domain", "", "head"}, {"dna.json", "setting", "pool_name", "", "login"},
	}
	if diff := cmp.Diff(want, found, cmp.AllowUnexported(item{})); diff != "" {
		t.Error(diff)
	}
}
