package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/efs"
	efstypes "github.com/aws/aws-sdk-go-v2/service/efs/types"
	"github.com/aws/aws-sdk-go-v2/service/fsx"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/route53"

	"github.com/muster-hpc/muster/internal/catalog"
	"github.com/muster-hpc/muster/test/cloud"
	"github.com/muster-hpc/muster/test/cloud/ec2"
	"github.com/muster-hpc/muster/test/cloud/machine"
)

// network is the VPC that muster makes where a file names no subnets.
var network = netip.MustParsePrefix("10.0.0.0/16")

// speed is the double's clock's: a file system that takes ten minutes to make is
// there in two seconds.
const speed = 300

// world is the double with its machines, in the namespaces that run made.
func world(ctx context.Context, dir string) error {
	outside, err := machine.Arrive()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	b := &bridge{ctx: ctx, log: log}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	const port = "4566"
	router := network.Addr().Next().String()
	w, err := machine.New(ctx, machine.Config{
		Dir: dir, Network: network, Endpoint: "http://" + router + ":" + port, Program: self,
		FileSystem: b.fileSystem, Names: b.names, Ended: b.ended, Log: log,
	})
	if err != nil {
		return err
	}
	inner, err := (&net.ListenConfig{}).Listen(ctx, "tcp", router+":"+port)
	if err != nil {
		return err
	}
	c, err := cloud.Run(ctx, cloud.Options{Speed: speed, Pause: 2 * time.Millisecond, Log: log, EC2: ec2.Options{OneNetwork: true}})
	if err != nil {
		return err
	}
	defer c.Close()
	b.start(c, w)
	handler := b.controlled(c)
	for _, l := range []net.Listener{outside, inner} {
		server := &http.Server{Handler: handler}
		context.AfterFunc(ctx, func() { server.Close() })
		go func() { _ = server.Serve(l) }() // ends with the process at the latest
	}
	env := strings.ReplaceAll(strings.Join(c.Env(), "\n"), c.URL, "http://"+router+":"+port) + "\n" + outsideVariable + "=http://" + outside.Addr().String() + "\n"
	if err := os.WriteFile(filepath.Join(dir, "env.new"), []byte(env), 0o644); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(dir, "env.new"), filepath.Join(dir, "env")); err != nil {
		return err
	}
	fmt.Println("ready")
	<-ctx.Done()
	return c.Keep(os.Getenv("MUSTER_PROOF"), "muster-cloud")
}

// bridge joins the double and its machines.
type bridge struct {
	// ctx is the process's: machines come and go by calls that have none.
	ctx   context.Context
	log   *slog.Logger
	cloud *cloud.Cloud
	world *machine.World
	aws   aws.Config
	// named are the EFS whose name was asked for.
	named sync.Map
}

func (b *bridge) start(c *cloud.Cloud, w *machine.World) {
	b.cloud, b.world, b.aws = c, w, c.Config()
	c.EC2.Hook(
		func(i ec2.Instance) { go b.launch(i) },
		func(i ec2.Instance) { go b.terminate(i) },
	)
	// Not beside the call: a volume that comes and goes does so in this order.
	c.EC2.HookVolumes(
		func(a ec2.Attachment) { b.volume(a, w.Attach) },
		func(a ec2.Attachment) { b.volume(a, w.Detach) },
	)
}

func (b *bridge) launch(i ec2.Instance) {
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	in, _ := catalog.Lookup(i.Type) // a type without GPUs if it is not known
	key, err := b.publicKey(ctx, i.KeyName)
	if err != nil {
		b.log.Error("a key pair has no public key", "instance", i.ID, "error", err)
	}
	err = b.world.Launch(machine.Instance{
		ID: i.ID, Type: i.Type, Image: i.ImageID, Region: i.Region, Zone: i.Zone, Address: i.PrivateIP, Public: i.PublicIP,
		UserData: i.UserData, User: b.user(ctx, i.ImageID), PublicKey: key, Role: b.role(ctx, i.Profile), LaunchIndex: i.Index, Tags: i.Tags, TagsInMetadata: i.TagsInMetadata, GPUs: in.GPU.Count,
	})
	if err != nil {
		b.log.Error("a machine does not boot", "instance", i.ID, "error", err)
		return
	}
	b.log.Info("machine boots", "instance", i.ID, "type", i.Type, "address", i.PrivateIP)
}

func (b *bridge) volume(a ec2.Attachment, do func(machine.Disk) error) {
	if err := do(machine.Disk{Instance: a.Instance, Volume: a.Volume, GiB: a.GiB}); err != nil {
		b.log.Error("a volume does not change hands", "volume", a.Volume, "instance", a.Instance, "error", err)
	}
}

func (b *bridge) terminate(i ec2.Instance) {
	if err := b.world.Terminate(i.ID); err != nil {
		b.log.Error("a machine does not end", "instance", i.ID, "error", err)
		return
	}
	b.log.Info("machine ends", "instance", i.ID)
}

// ended is a machine that shut itself down: every one of ours is terminated then.
func (b *bridge) ended(id string) { b.cloud.EC2.Shutdown(id) }

// role is the role of an instance profile.
func (b *bridge) role(ctx context.Context, profile string) string {
	_, name, ok := strings.Cut(profile, ":instance-profile/")
	if !ok {
		return ""
	}
	out, err := iam.NewFromConfig(b.aws).GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: aws.String(name[strings.LastIndex(name, "/")+1:])})
	if err != nil || len(out.InstanceProfile.Roles) == 0 {
		b.log.Error("an instance profile has no role", "profile", profile, "error", err)
		return ""
	}
	return aws.ToString(out.InstanceProfile.Roles[0].RoleName)
}

// fileSystem finds the file system behind a source of mount(8), which has to be
// ready and to be called by its mount name.
func (b *bridge) fileSystem(ctx context.Context, source string) (string, error) {
	id, rest, _ := strings.Cut(source, ".")
	_, export, _ := strings.Cut(source, ":")
	if strings.HasPrefix(rest, "efs.") {
		return id, b.mountTarget(ctx, id)
	}
	out, err := fsx.NewFromConfig(b.aws).DescribeFileSystems(ctx, &fsx.DescribeFileSystemsInput{FileSystemIds: []string{id}})
	if err != nil {
		return "", err
	}
	if len(out.FileSystems) == 0 {
		return "", errors.New("no such file system")
	}
	f := out.FileSystems[0]
	if f.Lifecycle != "AVAILABLE" {
		return "", fmt.Errorf("%s is %s", id, f.Lifecycle)
	}
	if l := f.LustreConfiguration; l != nil && "/"+aws.ToString(l.MountName) != export {
		return "", fmt.Errorf("%s has no %s: its mount name is %s", id, export, aws.ToString(l.MountName))
	}
	return id, nil
}

// mountTarget looks for a mount target of an EFS. Its name comes late: who asks for it
// first does not get it.
// https://docs.aws.amazon.com/efs/latest/ug/troubleshooting-efs-mounting.html
func (b *bridge) mountTarget(ctx context.Context, id string) error {
	out, err := efs.NewFromConfig(b.aws).DescribeMountTargets(ctx, &efs.DescribeMountTargetsInput{FileSystemId: &id})
	if err != nil {
		return err
	}
	there := slices.ContainsFunc(out.MountTargets, func(m efstypes.MountTargetDescription) bool { return m.LifeCycleState == "available" })
	if _, asked := b.named.LoadOrStore(id, true); !there || !asked {
		return fmt.Errorf("failed to resolve server %s: Name or service not known", id)
	}
	return nil
}

// names looks a name up in the private zones.
func (b *bridge) names(ctx context.Context, name string) []netip.Addr {
	client := route53.NewFromConfig(b.aws)
	zones, err := client.ListHostedZones(ctx, &route53.ListHostedZonesInput{})
	if err != nil {
		b.log.Error("zones cannot be listed", "error", err)
		return nil
	}
	var found []netip.Addr
	for _, z := range zones.HostedZones {
		if !strings.HasSuffix(name+".", "."+aws.ToString(z.Name)) {
			continue
		}
		sets, err := client.ListResourceRecordSets(ctx, &route53.ListResourceRecordSetsInput{HostedZoneId: z.Id, StartRecordName: aws.String(name + "."), MaxItems: aws.Int32(5)})
		if err != nil {
			continue
		}
		for _, s := range sets.ResourceRecordSets {
			for _, r := range s.ResourceRecords {
				if a, err := netip.ParseAddr(aws.ToString(r.Value)); err == nil && strings.EqualFold(aws.ToString(s.Name), name+".") {
					found = append(found, a)
				}
			}
		}
	}
	return found
}
