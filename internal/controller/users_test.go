package controller_test

import (
	"slices"
	"testing"

	"github.com/muster-hpc/muster/internal/controller"
)

func TestUsers(t *testing.T) {
	if got := controller.Users("root", "nobody-has-this-name"); !slices.Equal(got, []int{0, 0}) {
		t.Errorf("got %v", got)
	}
}
