package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/muster-hpc/muster/internal/aws/inventory"
)

// Survey asks AWS about the things that a cluster file names. Questions that are denied are
// in the answer; an error is that the caller is not known, or that ctx ended.
func (a *Account) Survey(ctx context.Context, w inventory.Wanted) (inventory.Inventory, error) {
	who, err := a.Identity(ctx)
	if err != nil {
		return inventory.Inventory{}, err
	}
	s := &survey{Account: a, wanted: w, who: who, found: inventory.Inventory{
		At: time.Now(), Account: who.Account, Region: a.Region, Partition: who.Partition, Caller: who.ARN,
		Unasked: map[string]string{}, Hidden: map[string]map[string]string{}, Others: map[string]map[string]string{},
		Buckets: map[string]inventory.Bucket{},
	}}
	s.own = sync.OnceValues(func() (own, error) { return s.whatIsOwn(ctx) })
	var group sync.WaitGroup
	for _, ask := range []func(context.Context){
		s.network, s.groups, s.addresses, s.placementGroups, s.keyPairs, s.images, s.official, s.offers, s.reservations,
		s.launchTemplates, s.fileSystems, s.snapshots, s.kmsKeys, s.secrets, s.roles, s.policies, s.buckets, s.urls, s.zones,
		s.quotas, s.lustre, s.rights,
	} {
		group.Go(func() { ask(ctx) })
	}
	group.Wait()
	return s.found, context.Cause(ctx)
}

// survey are questions that are asked at the same time.
type survey struct {
	*Account
	wanted inventory.Wanted
	who    Identity
	// own asks once.
	own func() (own, error)

	mu    sync.Mutex // guards what follows
	found inventory.Inventory
}

// Subjects are the codes of the rules that are blind without an answer.
const (
	ofSubnets      = "aws/subnet"
	ofVPCs         = "aws/vpc"
	ofGroups       = "aws/security-group"
	ofAddresses    = "aws/elastic-ip"
	ofPlacement    = "aws/placement-group"
	ofKeyPairs     = "aws/key-pair"
	ofImages       = "aws/image"
	ofOfficial     = "aws/official-image"
	ofTypes        = "aws/instance-type"
	ofReservations = "aws/reservation"
	ofTemplates    = "aws/launch-template"
	ofFileSystems  = "aws/file-system"
	ofSnapshots    = "aws/snapshot"
	ofKMSKeys      = "aws/kms-key"
	ofRoles        = "aws/role"
	ofRoleRights   = "aws/role-rights"
	ofPolicies     = "aws/policy"
	ofBuckets      = "aws/bucket"
	ofSecrets      = "aws/secret"
	ofZones        = "aws/hosted-zone"
	ofURLs         = "aws/url"
	ofQuotas       = "aws/quota"
	ofLustre       = "aws/lustre"
	ofRights       = "aws/rights"
)

// names are those of a subject.
func (s *survey) names(subject string) []string { return s.wanted.Names[subject] }

// answer keeps something of the answer.
func (s *survey) answer(keep func(*inventory.Inventory)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keep(&s.found)
}

// unasked notes why a subject could not be asked.
func (s *survey) unasked(subject, action string, err error) {
	s.answer(func(i *inventory.Inventory) { i.Unasked[subject] = because(action, err) })
}

// hidden notes why one name of a subject could not be asked.
func (s *survey) hidden(subject, name, why string) {
	s.answer(func(i *inventory.Inventory) { put(i.Hidden, subject, name, why) })
}

// other notes that a thing exists, and its fault.
func (s *survey) other(subject, name, wrong string) {
	s.answer(func(i *inventory.Inventory) { put(i.Others, subject, name, wrong) })
}

func put(all map[string]map[string]string, subject, name, text string) {
	if all[subject] == nil {
		all[subject] = map[string]string{}
	}
	all[subject][name] = text
}

// because says why a call was not answered.
func because(action string, err error) string {
	if _, ok := refused(err); !ok && denied(err) {
		return code(err) + " on " + action
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		err = r // without the frame: the caller has said the action and its object
	}
	return fmt.Sprintf("%s: %v", action, words(err))
}

// denied is that the caller may not ask. S3 answers HEAD requests with no more than
// a status, which the SDK calls Forbidden.
func denied(err error) bool {
	switch code(err) {
	case "UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "Forbidden", "AuthorizationError":
		return true
	}
	return false
}

// absent is that AWS has no such thing.
func absent(err error) bool {
	c := code(err)
	switch c {
	case "NoSuchEntity", "NoSuchBucket", "NoSuchKey", "NotFound", "NoSuchHostedZone", "FileSystemNotFound", "VolumeNotFound",
		"FileCacheNotFound", "BackupNotFound", "ParameterNotFound", "InvalidPlacementGroup.Unknown":
		return true
	}
	if strings.HasSuffix(c, "NotFoundException") || strings.HasSuffix(c, "NotFound") && strings.HasPrefix(c, "Invalid") {
		return true
	}
	// A malformed ID belongs to no resource.
	return strings.HasPrefix(c, "Invalid") && strings.HasSuffix(c, ".Malformed") || strings.HasPrefix(c, "InvalidAMIID.")
}

// mostAtOnce is how many calls about single names are made at the same time.
const mostAtOnce = 8

// eachOne asks for names one by one, some at the same time. Absent ones are left out,
// denied ones are hidden.
func (s *survey) eachOne(subject, action string, names []string, ask func(name string) error) {
	var group sync.WaitGroup
	slots := make(chan struct{}, mostAtOnce)
	for _, name := range names {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if err := ask(name); err != nil && !absent(err) {
				s.hidden(subject, name, because(action, err))
			}
		})
	}
	group.Wait()
}

// batched asks for all names in one call. A call that fails as a whole because one
// name is absent is made again for each.
func (s *survey) batched(subject, action string, names []string, ask func(names ...string) error) {
	if len(names) == 0 {
		return
	}
	err := ask(names...)
	switch {
	case err == nil, absent(err) && len(names) == 1:
	case absent(err):
		s.eachOne(subject, action, names, func(name string) error { return ask(name) })
	default:
		s.unasked(subject, action, err)
	}
}

// errUseless is an answer that does not say what was asked.
var errUseless = errors.New("the answer does not say")
