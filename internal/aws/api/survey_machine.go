package api

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/muster-hpc/muster/internal/aws/inventory"
)

// placementGroups asks about placement groups. A file names one by name or ID.
func (s *survey) placementGroups(ctx context.Context) {
	var ids, names []string
	for _, n := range s.names(ofPlacement) {
		if strings.HasPrefix(n, "pg-") {
			ids = append(ids, n)
		} else {
			names = append(names, n)
		}
	}
	s.batched(ofPlacement, "ec2:DescribePlacementGroups", ids, func(ids ...string) error {
		return s.placement(ctx, &ec2.DescribePlacementGroupsInput{GroupIds: ids})
	})
	s.batched(ofPlacement, "ec2:DescribePlacementGroups", names, func(names ...string) error {
		return s.placement(ctx, &ec2.DescribePlacementGroupsInput{GroupNames: names})
	})
}

func (s *survey) placement(ctx context.Context, in *ec2.DescribePlacementGroupsInput) error {
	out, err := s.ec2().DescribePlacementGroups(ctx, in)
	if err != nil {
		return err
	}
	s.answer(func(i *inventory.Inventory) {
		for _, g := range out.PlacementGroups {
			for _, name := range []string{aws.ToString(g.GroupName), aws.ToString(g.GroupId)} {
				i.PlacementGroups = with(i.PlacementGroups, name, inventory.PlacementGroup{Strategy: string(g.Strategy), State: string(g.State)})
			}
		}
	})
	return nil
}

func (s *survey) keyPairs(ctx context.Context) {
	s.batched(ofKeyPairs, "ec2:DescribeKeyPairs", s.names(ofKeyPairs), func(names ...string) error {
		out, err := s.ec2().DescribeKeyPairs(ctx, &ec2.DescribeKeyPairsInput{KeyNames: names})
		if err != nil {
			return err
		}
		s.answer(func(i *inventory.Inventory) {
			for _, k := range out.KeyPairs {
				i.KeyPairs = with(i.KeyPairs, aws.ToString(k.KeyName), inventory.KeyPair{Type: string(k.KeyType)})
			}
		})
		return nil
	})
}

func (s *survey) images(ctx context.Context) {
	s.batched(ofImages, "ec2:DescribeImages", s.names(ofImages), func(ids ...string) error {
		found, err := s.Account.images(ctx, &ec2.DescribeImagesInput{ImageIds: ids, IncludeDeprecated: aws.Bool(true)})
		if err != nil {
			return err
		}
		s.answer(func(i *inventory.Inventory) {
			for _, x := range found {
				i.Images = with(i.Images, aws.ToString(x.ImageId), imageOf(x))
			}
		})
		return nil
	})
}

// official looks for ParallelCluster's own images.
func (s *survey) official(ctx context.Context) {
	w := s.wanted.Official
	all, images := map[string]string{}, map[string]inventory.Image{}
	for _, arch := range w.Arches {
		image, err := s.newest(ctx, w, arch)
		if _, none := errors.AsType[noImageError](err); err != nil && !none {
			s.unasked(ofOfficial, "ec2:DescribeImages", err)
			return
		}
		if all[arch] = ""; err != nil {
			all[arch] = err.Error()
			continue
		}
		images[arch] = image
	}
	s.answer(func(i *inventory.Inventory) { i.Official, i.OfficialImages = all, images })
}

// offers asks which zones offer the instance types.
func (s *survey) offers(ctx context.Context) {
	names := s.names(ofTypes)
	if len(names) == 0 {
		return
	}
	all, err := s.offered(ctx, names)
	if err != nil {
		s.unasked(ofTypes, "ec2:DescribeInstanceTypeOfferings", err)
		return
	}
	s.answer(func(i *inventory.Inventory) { i.Offers = all })
}

// reservations asks about capacity reservations and blocks. Groups of them have an
// ARN, and are another service's.
func (s *survey) reservations(ctx context.Context) {
	var ids []string
	for _, name := range s.names(ofReservations) {
		switch known, ok := s.wanted.Reservations[name]; {
		case ok:
			s.answer(func(i *inventory.Inventory) { i.Reservations = with(i.Reservations, name, known) })
		case strings.HasPrefix(name, "arn:"):
			s.hidden(ofReservations, name, "muster does not ask for groups of reservations")
		default:
			ids = append(ids, name)
		}
	}
	s.batched(ofReservations, "ec2:DescribeCapacityReservations", ids, func(ids ...string) error {
		found, err := s.Reservations(ctx, ids)
		if err != nil {
			return err
		}
		s.answer(func(i *inventory.Inventory) {
			for id, r := range found {
				i.Reservations = with(i.Reservations, id, r)
			}
		})
		return nil
	})
}

// launchTemplates are asked for with what the versions say that the file names. A template
// that has no such version is there all the same.
func (s *survey) launchTemplates(ctx context.Context) {
	const action = "ec2:DescribeLaunchTemplateVersions"
	s.eachOne(ofTemplates, action, s.wanted.Templates, func(name string) error {
		id, version, _ := strings.Cut(name, ":")
		out, err := s.ec2().DescribeLaunchTemplateVersions(ctx, &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &id, Versions: []string{version}})
		switch {
		case err == nil || code(err) == "InvalidLaunchTemplateId.VersionNotFound":
			s.other(ofTemplates, id, "")
		case !absent(err):
			s.hidden(ofTemplates, id, because(action, err))
		}
		if err != nil || len(out.LaunchTemplateVersions) == 0 {
			return nil
		}
		data, err := json.Marshal(out.LaunchTemplateVersions[0].LaunchTemplateData)
		s.answer(func(i *inventory.Inventory) { i.Templates = with(i.Templates, name, json.RawMessage(data)) })
		return err
	})
}

// date is a day for people.
func date(t time.Time) string { return t.UTC().Format(time.DateOnly) }
