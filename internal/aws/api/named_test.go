package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-hpc/muster/test/cloud"
)

func TestProfileRoles_are_what_a_policy_can_name(t *testing.T) {
	c := cloud.Start(t, cloud.Options{Region: region})
	roles(t, c)
	got := must[[]string](t)(open(t, c).ProfileRoles(t.Context(), "arn:aws:iam::"+cloud.Account+":instance-profile/own"))
	if diff := cmp.Diff([]string{"arn:aws:iam::" + cloud.Account + ":role/own"}, got); diff != "" {
		t.Error(diff)
	}
}
