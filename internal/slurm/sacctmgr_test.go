package slurm

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorded answers sacctmgr show with what the real one said.
type recorded struct {
	t *testing.T
	// as is the name of the record, where it is not what is shown.
	as string
}

func (r recorded) Run(_ context.Context, _ string, args ...string) ([]byte, error) {
	if r.as == "" {
		r.as = args[4]
	}
	data, err := os.ReadFile("testdata/slurm-22.05.8/sacctmgr-" + r.as + ".txt")
	if err != nil {
		r.t.Error(err)
	}
	return data, nil
}

func TestClient_reads_accounts(t *testing.T) {
	c := Client{Runner: recorded{t: t}}
	all, err := c.Associations(t.Context(), "w")
	if err != nil || len(all) != 11 {
		t.Fatalf("%d associations, %v", len(all), err)
	}
	want := Association{Account: "research", Parent: "root", Values: map[string]string{
		"FairShare": "60", "GrpTRES": "gres/gpu=64,mem=1T,node=8", "MaxWall": "2-00:00:00", "DefaultQOS": "low", "QOS": "low,normal"}}
	if diff := cmp.Diff(want, all[4]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Association{Account: "research", User: "bin", Values: map[string]string{"FairShare": "1"}}, all[5]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	qualities, err := c.QOS(t.Context())
	if err != nil || len(qualities) != 4 {
		t.Fatalf("%d QOS, %v", len(qualities), err)
	}
	if diff := cmp.Diff(Quality{Name: "urgent", Values: map[string]string{"Flags": "DenyOnLimit", "GraceTime": "00:00:00", "MaxTRESPerUser": "gres/gpu=16",
		"MaxWall": "12:00:00", "Preempt": "low,normal", "PreemptMode": "cluster", "Priority": "1000", "UsageFactor": "2.000000", "Description": "urgent"}}, qualities[3]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	names, err := c.AccountNames(t.Context())
	if err != nil || len(names) != 5 || names[4] != (AccountName{Name: "vision", Organization: "research", Description: "seeing | all"}) {
		t.Errorf("%v, %v", names, err)
	}
	users, err := c.DefaultAccounts(t.Context(), "acct")
	if err != nil || users["daemon"] != "nlp" || len(users) != 3 {
		t.Errorf("%v, %v", users, err)
	}
	if users, err = c.DefaultAccounts(t.Context(), "other"); err != nil || len(users) != 0 {
		t.Errorf("of another cluster: %v, %v", users, err)
	}
	c.Runner = recorded{t: t, as: "uses"}
	uses, err := c.Uses(t.Context())
	want = Association{Cluster: "other", Account: "theirs", Values: map[string]string{"QOS": "normal,train"}}
	if err != nil || len(uses) != 13 || !cmp.Equal(uses[11], want) {
		t.Errorf("%d uses, %+v, %v", len(uses), uses, err)
	}
}

// TestClient_Administrator: an Operator is none, and what sacctmgr says of others counts for nothing.
func TestClient_Administrator(t *testing.T) {
	for said, want := range map[string]bool{"ann|Administrator\n": true, "ann|Operator\n": false, "ann|None\n": false, "": false, "bob|Administrator\nann|None\n": false} {
		c := Client{Runner: asked{"sacctmgr --noheader --parsable2 --readonly show user name=ann format=User,AdminLevel": said}}
		if is, err := c.Administrator(t.Context(), "ann"); err != nil || is != want {
			t.Errorf("%q: %t, %v", said, is, err)
		}
	}
	if is, err := (Client{Runner: refusing{}}).Administrator(t.Context(), "ann"); err == nil || is {
		t.Errorf("%t, %v", is, err)
	}
}

func TestClient_reads_descriptions_of_several_lines(t *testing.T) {
	// What sacctmgr of 22.05.8 shows after `sacctmgr modify account where name=hand set Description=$'two\nlines'`.
	got, err := Client{Runner: asked{"sacctmgr --noheader --parsable2 --readonly show account format=Account,Organization,Description": "hand|hand|two\nlines\nroot|root|default root account\n"}}.AccountNames(t.Context())
	want := []AccountName{{Name: "hand", Organization: "hand", Description: "two\nlines"}, {Name: "root", Organization: "root", Description: "default root account"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

type refusing struct{}

func (refusing) Run(context.Context, string, ...string) ([]byte, error) {
	return []byte(" This account 'nope' doesn't exist.\n        Contact your admin to add this account.\n Nothing new added.\n"),
		&ProgramError{Program: "sacctmgr add user", Err: errors.New("exit status 1")}
}

func TestClient_says_why_sacctmgr_refuses(t *testing.T) {
	err := Client{Runner: refusing{}}.Account(t.Context(), "add", "user", "name=ann", "account=nope")
	if want := "sacctmgr add user: This account 'nope' doesn't exist.; Contact your admin to add this account.; Nothing new added."; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := (Client{Runner: asked{"sacctmgr --noheader --parsable2 --readonly show user WithAssoc cluster=w format=User,Cluster,DefaultAccount": "ann\n"}}).DefaultAccounts(t.Context(), "w"); err == nil || !strings.Contains(err.Error(), "1 columns instead of 3") {
		t.Errorf("a line that is cut off: %v", err)
	}
}

func TestConf_has_what_accounts_need(t *testing.T) {
	c := Config{Timers: LocalTimers(), Policy: Policy{Enforce: []string{"associations", "limits"}, Shares: true, Preempt: true}}
	lines := []string{"PriorityWeightAge=1000", "PriorityWeightFairshare=100000", "PriorityWeightQOS=1000000", "AccountingStorageEnforce=associations,limits",
		"PreemptType=preempt/qos", "PreemptMode=REQUEUE"}
	for _, line := range lines {
		if !strings.Contains(c.Conf(), "\n"+line+"\n") {
			t.Errorf("no %s in\n%s", line, c.Conf())
		}
	}
	if !strings.Contains(c.Conf(), ",preempt_send_user_signal,") {
		t.Error("jobs that give way do not get the signal that they asked for")
	}
	c.Custom = []Setting{{"preemptmode", "CANCEL"}, {"PriorityWeightQOS", "5"}}
	if conf := c.Conf(); strings.Contains(conf, "REQUEUE") || strings.Contains(conf, "PriorityWeightQOS=1000000") || !strings.Contains(conf, "\npreemptmode=CANCEL\n") {
		t.Errorf("the user's own settings do not win:\n%s", conf)
	}
	c.Accounting.Off = true
	if conf := c.Conf(); strings.Contains(conf, "Enforce") || strings.Contains(conf, "PreemptType") {
		t.Errorf("without accounting nobody knows accounts:\n%s", conf)
	}
}
