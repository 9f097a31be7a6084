package ec2

import (
	"bytes"
	"encoding/xml"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// writer writes XML in the order in which it is told. EC2's lists of instances are
// large, and encoding/xml is not fast.
type writer struct{ bytes.Buffer }

func (w *writer) open(name string) *writer {
	w.WriteByte('<')
	w.WriteString(name)
	w.WriteByte('>')
	return w
}

func (w *writer) close(name string) *writer {
	w.WriteString("</")
	w.WriteString(name)
	w.WriteByte('>')
	return w
}

// text writes an element, unless it is empty.
func (w *writer) text(name, value string) *writer {
	if value == "" {
		return w
	}
	w.open(name)
	_ = xml.EscapeText(w, []byte(value)) // never fails on a buffer
	return w.close(name)
}

func (w *writer) number(name string, n int) *writer { return w.text(name, strconv.Itoa(n)) }

func (w *writer) yes(name string, b bool) *writer { return w.text(name, strconv.FormatBool(b)) }

func (w *writer) time(name string, t time.Time) *writer {
	if t.IsZero() {
		return w
	}
	return w.text(name, stamp(t))
}

func (w *writer) list(name string, values []string, each func(string)) *writer {
	w.open(name)
	for _, v := range values {
		w.open("item")
		each(v)
		w.close("item")
	}
	return w.close(name)
}

func (w *writer) tags(tags map[string]string) *writer {
	return w.list("tagSet", slices.Sorted(maps.Keys(tags)), func(key string) {
		w.text("key", key).open("value")
		_ = xml.EscapeText(w, []byte(tags[key])) // never fails on a buffer
		w.close("value")
	})
}

// stamp is a time as EC2 writes it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

const xmlType = "text/xml;charset=UTF-8"

// begin and end are the frame of an answer.
func begin(action string) []byte {
	return []byte(xml.Header + "<" + action + `Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>00000000-0000-4000-8000-000000000000</requestId>`)
}

func end(action string) []byte { return []byte("</" + action + "Response>") }

// answer is what was written, in the frame of a call's answer.
func (w *writer) answer(c *wire.Call) *wire.Answer {
	return &wire.Answer{Type: xmlType, Body: slices.Concat(begin(c.Action), w.Bytes(), end(c.Action))}
}

// done answers <return>true</return>.
func done(c *wire.Call) *wire.Answer {
	var w writer
	return w.text("return", "true").answer(c)
}

// writeHead writes an instance without the interfaces, which never change, and
// without the end of its element.
func (i *instance) writeHead(w *writer, s moment) {
	w.open("item").text("instanceId", i.ID).text("imageId", i.ImageID)
	writeState(w, "instanceState", s.state)
	living := s.state != terminated
	if living {
		w.text("privateDnsName", i.PrivateDNS)
	}
	w.text("reason", s.reason)
	w.text("keyName", i.KeyName).number("amiLaunchIndex", i.Index).text("instanceType", i.Type).time("launchTime", i.Launched)
	w.open("placement").text("availabilityZone", i.Zone).text("groupName", i.spec.placement).text("tenancy", "default").close("placement")
	w.open("monitoring").text("state", "disabled").close("monitoring")
	if living {
		w.text("subnetId", i.Subnet).text("vpcId", i.VPC).text("privateIpAddress", i.PrivateIP.String())
		if i.PublicIP.IsValid() {
			w.text("ipAddress", i.PublicIP.String())
		}
		w.yes("sourceDestCheck", true)
		w.list("groupSet", i.Groups, func(g string) { w.text("groupId", g).text("groupName", i.names[g]) })
	}
	if s.code != "" {
		w.open("stateReason").text("code", s.code).text("message", s.reason).close("stateReason")
	}
	w.text("architecture", i.Arch).text("rootDeviceType", "ebs").text("rootDeviceName", i.RootDevice)
	i.writeDisks(w, living)
	w.text("virtualizationType", "hvm").text("clientToken", i.Token).tags(i.tagsAt(s.at)).text("hypervisor", "xen")
	switch i.spec.market {
	case "spot":
		w.text("instanceLifecycle", "spot").text("spotInstanceRequestId", "sir-"+i.ID[2:10])
	case "capacity-block":
		w.text("instanceLifecycle", "capacity-block")
	}
	if i.Profile != "" {
		w.open("iamInstanceProfile").text("arn", i.Profile).text("id", "AIPA"+i.ID[2:]).close("iamInstanceProfile")
	}
	i.writeOptions(w)
}

func (i *instance) writeDisks(w *writer, living bool) {
	w.open("blockDeviceMapping")
	for _, d := range i.volumes {
		if living {
			w.open("item").text("deviceName", d.device).open("ebs").text("volumeId", d.id).text("status", "attached").time("attachTime", i.Launched)
			w.yes("deleteOnTermination", !d.stays).close("ebs").close("item")
		}
	}
	w.close("blockDeviceMapping")
}

func (i *instance) writeOptions(w *writer) {
	w.text("ebsOptimized", "true").text("enaSupport", "true")
	if i.machine.cores > 0 {
		cores, threads := i.machine.cores, i.machine.threads
		if i.spec.cores > 0 {
			cores = i.spec.cores
		}
		if i.spec.threads > 0 {
			threads = i.spec.threads
		}
		w.open("cpuOptions").number("coreCount", cores).number("threadsPerCore", threads).close("cpuOptions")
	}
	w.text("capacityReservationId", i.Reservation)
	w.open("capacityReservationSpecification")
	if i.spec.reservation == "" {
		preference := i.spec.preference
		if preference == "" {
			preference = "open"
		}
		w.text("capacityReservationPreference", preference)
	} else {
		w.open("capacityReservationTarget").text("capacityReservationId", i.spec.reservation).close("capacityReservationTarget")
	}
	w.close("capacityReservationSpecification").open("metadataOptions").text("state", "applied")
	option := func(element, name, usual string) {
		if v := i.spec.metadata[name]; v != "" {
			usual = v
		}
		w.text(element, usual)
	}
	option("httpTokens", "HttpTokens", "optional")
	option("httpPutResponseHopLimit", "HttpPutResponseHopLimit", "1")
	option("httpEndpoint", "HttpEndpoint", "enabled")
	option("instanceMetadataTags", "InstanceMetadataTags", "disabled")
	option("httpProtocolIpv6", "HttpProtocolIpv6", "disabled")
	w.close("metadataOptions")
}

// writeCards writes the list of interfaces as it stands in an instance.
func (i *instance) writeCards(w *writer) {
	w.open("networkInterfaceSet")
	for _, n := range i.Interfaces {
		w.open("item")
		i.writeCard(w, n)
		w.close("item")
	}
	w.close("networkInterfaceSet")
}

func (i *instance) writeCard(w *writer, n Interface) {
	w.text("networkInterfaceId", n.ID).text("subnetId", n.Subnet).text("vpcId", i.VPC).text("description", n.Description)
	w.text("ownerId", i.owner).text("status", "in-use").text("macAddress", n.MAC)
	if n.Address.IsValid() {
		w.text("privateIpAddress", n.Address.String()).text("privateDnsName", privateDNS(n.Address, i.region))
	}
	w.yes("sourceDestCheck", true)
	w.list("groupSet", n.Groups, func(g string) { w.text("groupId", g).text("groupName", i.names[g]) })
	w.open("attachment").text("attachmentId", "eni-attach-"+n.ID[4:]).number("deviceIndex", n.Device).text("status", "attached").time("attachTime", i.Launched)
	w.yes("deleteOnTermination", !n.Stays).number("networkCardIndex", n.Card).close("attachment")
	w.open("privateIpAddressesSet")
	if n.Address.IsValid() {
		w.open("item").text("privateIpAddress", n.Address.String()).text("privateDnsName", privateDNS(n.Address, i.region)).yes("primary", true).close("item")
	}
	w.close("privateIpAddressesSet").open("ipv6AddressesSet").close("ipv6AddressesSet").text("interfaceType", n.Type)
}

func writeState(w *writer, element string, s State) {
	w.open(element).number("code", s.code()).text("name", string(s)).close(element)
}
