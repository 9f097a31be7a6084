package ec2

import (
	"context"
	"net/url"
	"slices"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// leftVolume is a volume that outlived its instance.
type leftVolume struct {
	volume
	zone string
}

// describeVolumes is DescribeVolumes: moto's, with what is attached to our instances,
// and those that our instances came with.
func (e *EC2) describeVolumes(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	filters, ids := p.filters(), p.texts("VolumeId")
	e.mu.Lock()
	mine, err := e.ownVolumes(filters, ids)
	known := func(id string) bool {
		return slices.ContainsFunc(mine, func(v seenVolume) bool { return v.id == id })
	}
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	write := func(w *writer) {
		for _, v := range mine {
			e.writeVolume(w, v)
		}
	}
	form, left := without(c.Form, "VolumeId", known)
	ofInstances := slices.ContainsFunc(filters, func(f filter) bool { return f.name == "attachment.instance-id" })
	if len(ids) > 0 && left == 0 || ofInstances || e.opts.Moto == nil {
		var w writer
		e.mu.Lock()
		defer e.mu.Unlock()
		w.open("volumeSet")
		write(&w)
		return w.close("volumeSet").answer(c), nil
	}
	return e.merge(ctx, wire.NewCall("ec2", c.Region, form), "volumeSet", e.patchVolume, write)
}

// seenVolume is a volume and whose it is; of is nil for one that was left.
type seenVolume struct {
	volume
	zone string
	of   *instance
}

func (e *EC2) ownVolumes(filters []filter, ids []string) ([]seenVolume, *wire.Error) {
	var all []seenVolume
	for _, i := range e.order {
		if m, ok := i.at(e.seen()); ok && m.state != terminated {
			for _, v := range i.volumes {
				if !v.moto {
					all = append(all, seenVolume{v, i.Zone, i})
				}
			}
		}
	}
	for _, v := range e.left {
		all = append(all, seenVolume{v.volume, v.zone, nil})
	}
	var fit []seenVolume
	for _, v := range all {
		if ids != nil && !slices.Contains(ids, v.id) {
			continue
		}
		values := map[string]string{"volume-id": v.id, "status": "available", "availability-zone": v.zone, "volume-type": v.kind, "attachment.instance-id": "", "attachment.device": "", "attachment.status": ""}
		if v.of != nil {
			values["status"], values["attachment.instance-id"], values["attachment.device"], values["attachment.status"] = "in-use", v.of.ID, v.device, "attached"
		}
		ok, err := resourceFits(filters, e.tags[v.id], values)
		if err != nil {
			return nil, err
		}
		if ok {
			fit = append(fit, v)
		}
	}
	return fit, nil
}

func (e *EC2) writeVolume(w *writer, v seenVolume) {
	status := "available"
	if v.of != nil {
		status = "in-use"
	}
	w.open("item").text("volumeId", v.id).number("size", v.size).text("availabilityZone", v.zone).text("status", status).text("volumeType", v.kind).time("createTime", v.made)
	w.yes("encrypted", v.encrypted).open("attachmentSet")
	if v.of != nil {
		w.open("item").text("volumeId", v.id).text("instanceId", v.of.ID).text("device", v.device).text("status", "attached")
		w.time("attachTime", v.of.Launched).yes("deleteOnTermination", !v.stays).close("item")
	}
	w.close("attachmentSet").tags(e.tags[v.id]).close("item")
}

// patchVolume shows in moto's answer that a volume is attached to one of our
// instances. mu is held.
func (e *EC2) patchVolume(item *node) {
	id := item.child("volumeId")
	for _, i := range e.order {
		if m, _ := i.at(e.now()); m.state == terminated {
			continue
		}
		for _, v := range i.volumes {
			if v.id != id || !v.moto {
				continue
			}
			item.set("status", "in-use")
			item.Nodes = slices.DeleteFunc(item.Nodes, func(n node) bool { return n.XMLName.Local == "attachmentSet" })
			item.Nodes = append(item.Nodes, element("attachmentSet", element("item",
				leaf("volumeId", id), leaf("instanceId", i.ID), leaf("device", v.device), leaf("status", "attached"), leaf("attachTime", stamp(i.Launched)), leaf("deleteOnTermination", "false"))))
		}
	}
}

// attachVolume is AttachVolume and DetachVolume, for our instances.
func (e *EC2) attachVolume(ctx context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	id := p.text("VolumeId")
	e.mu.Lock()
	i, k := e.attached(id)
	if c.Action == "AttachVolume" {
		i = e.instances[p.text("InstanceId")]
	}
	e.mu.Unlock()
	if i == nil || e.opts.Moto == nil {
		return e.moto(ctx, c)
	}
	if c.Action == "AttachVolume" && k >= 0 {
		return nil, wire.Errorf("VolumeInUse", "%s is already attached to an instance", id)
	}
	var answer struct {
		Zone string `xml:"volumeSet>item>availabilityZone"`
		Size int    `xml:"volumeSet>item>size"`
	}
	if err := e.ask(ctx, url.Values{"Action": {"DescribeVolumes"}, "VolumeId.1": {id}}, &answer); err != nil {
		return nil, err
	}
	if c.Action == "AttachVolume" && answer.Zone != i.Zone {
		return nil, wire.Errorf("InvalidVolume.ZoneMismatch", "The volume '%s' is not in the same availability zone as instance '%s'", id, i.ID)
	}
	e.mu.Lock()
	device, status, tell := p.text("Device"), "attaching", e.opts.OnAttach
	if now, _ := i.at(e.seen()); c.Action == "DetachVolume" && now.state == running && p.text("Force") != "true" {
		// Whoever has a volume has mounted it, and it does not go while it is mounted:
		// https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/aws-resource-ec2-volumeattachment.html
		status, tell = "busy", nil
	} else if c.Action == "AttachVolume" {
		i.volumes = append(slices.Clone(i.volumes), volume{id: id, device: device, size: answer.Size, stays: true, moto: true})
	} else if k := slices.IndexFunc(i.volumes, func(v volume) bool { return v.id == id }); k >= 0 { // others may have gone meanwhile
		device, status, tell = i.volumes[k].device, "detaching", e.opts.OnDetach
		i.volumes = slices.Delete(slices.Clone(i.volumes), k, k+1)
	}
	e.mu.Unlock()
	if tell != nil {
		tell(Attachment{Instance: i.ID, Volume: id, Device: device, GiB: answer.Size})
	}
	var w writer
	w.text("volumeId", id).text("instanceId", i.ID).text("device", device).text("status", status).time("attachTime", e.now().Truncate(time.Millisecond))
	return w.answer(c), nil
}

// attached is the instance that has a volume of moto's, and its place there. mu is held.
func (e *EC2) attached(id string) (*instance, int) {
	for _, i := range e.order {
		if m, _ := i.at(e.now()); m.state == terminated {
			continue
		}
		if k := slices.IndexFunc(i.volumes, func(v volume) bool { return v.id == id && v.moto }); k >= 0 {
			return i, k
		}
	}
	return nil, -1
}
