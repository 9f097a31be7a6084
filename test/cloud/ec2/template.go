package ec2

import (
	"context"
	"encoding/xml"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/muster-hpc/muster/test/cloud/wire"
)

// template is a launch template that the double keeps where there is no moto.
type template struct {
	id, name string
	data     url.Values
}

// fromTemplate reads the launch template that parameters name. It is empty where
// they name none.
func (e *EC2) fromTemplate(ctx context.Context, p params) (*spec, *wire.Error) {
	s := &spec{tags: map[string]map[string]string{}}
	id, name, version := p.text("LaunchTemplateId"), p.text("LaunchTemplateName"), p.text("Version")
	if id == "" && name == "" {
		return s, nil
	}
	if version == "" {
		version = "$Default"
	}
	found, data, err := e.templateData(ctx, id, name, version)
	if err != nil {
		return nil, err
	}
	s.apply(read(data))
	s.template = found
	return s, nil
}

// templateData is a launch template's id, and its data as parameters.
func (e *EC2) templateData(ctx context.Context, id, name, version string) (string, url.Values, *wire.Error) {
	if e.opts.Moto == nil {
		return e.keptTemplate(id, name)
	}
	form := url.Values{"Action": {"DescribeLaunchTemplateVersions"}, "LaunchTemplateVersion.1": {version}}
	if id != "" {
		form.Set("LaunchTemplateId", id)
	} else {
		form.Set("LaunchTemplateName", name)
	}
	var answer struct {
		Versions []struct {
			ID   string `xml:"launchTemplateId"`
			Data node   `xml:"launchTemplateData"`
		} `xml:"launchTemplateVersionSet>item"`
	}
	if err := e.ask(ctx, form, &answer); err != nil {
		return "", nil, err
	}
	if len(answer.Versions) == 0 {
		return "", nil, wire.Errorf("InvalidLaunchTemplateId.VersionNotFound", "Could not find the specified version %s for the launch template %s%s.", version, id, name)
	}
	data := url.Values{}
	answer.Versions[0].Data.flatten(data, "")
	return answer.Versions[0].ID, data, nil
}

func (e *EC2) keptTemplate(id, name string) (string, url.Values, *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, t := range e.templates {
		if t.id == id || t.name == name {
			return t.id, t.data, nil
		}
	}
	// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
	return "", nil, wire.Errorf("InvalidLaunchTemplateName.NotFoundException", "The specified launch template, with template name %s%s, does not exist.", id, name)
}

// keepTemplate is CreateLaunchTemplate and DeleteLaunchTemplate where there is no moto.
func (e *EC2) keepTemplate(_ context.Context, c *wire.Call, p params) (*wire.Answer, *wire.Error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if c.Action == "DeleteLaunchTemplate" {
		e.templates = slices.DeleteFunc(e.templates, func(t template) bool {
			return t.id == p.text("LaunchTemplateId") || t.name == p.text("LaunchTemplateName")
		})
		return done(c), nil
	}
	t := template{id: e.id("lt"), name: p.text("LaunchTemplateName"), data: url.Values{}}
	for _, other := range e.templates {
		if other.name == t.name {
			return nil, wire.Errorf("InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use.")
		}
	}
	for name, values := range c.Form {
		if rest, ok := strings.CutPrefix(name, "LaunchTemplateData."); ok {
			t.data[rest] = values
		}
	}
	e.templates = append(e.templates, t)
	var x writer
	x.open("launchTemplate").text("launchTemplateId", t.id).text("launchTemplateName", t.name).text("defaultVersionNumber", "1").text("latestVersionNumber", "1").close("launchTemplate")
	return x.answer(c), nil
}

// node is any element of XML.
type node struct {
	XMLName xml.Name
	Text    string `xml:",chardata"`
	Nodes   []node `xml:",any"`
}

// flatten writes what moto answers about a launch template as the parameters with
// which it was made: networkInterfaceSet>item>deviceIndex is
// NetworkInterface.1.DeviceIndex.
func (n node) flatten(into url.Values, at string) {
	for _, child := range n.Nodes {
		name := parameter(child.XMLName.Local)
		items := child.items()
		switch {
		case items != nil:
			for i, item := range items {
				item.flattenItem(into, at+name+"."+strconv.Itoa(i+1))
			}
		case len(child.Nodes) > 0:
			child.flatten(into, at+name+".")
		case strings.TrimSpace(child.Text) != "":
			into.Set(at+name, strings.TrimSpace(child.Text))
		}
	}
}

func (n node) flattenItem(into url.Values, at string) {
	switch {
	case len(n.Nodes) == 0:
		into.Set(at, strings.TrimSpace(n.Text))
	case len(n.Nodes) == 1 && n.Nodes[0].XMLName.Local == "groupId":
		into.Set(at, strings.TrimSpace(n.Nodes[0].Text))
	default:
		n.flatten(into, at+".")
	}
}

// items are the entries of a list; nil if it is none.
func (n node) items() []node {
	for _, child := range n.Nodes {
		if child.XMLName.Local != "item" {
			return nil
		}
	}
	return n.Nodes
}

// parameter is the name of a parameter for the name of an element.
func parameter(element string) string {
	switch element {
	case "groupSet", "groupIdSet", "securityGroupIdSet", "securityGroupSet":
		return "SecurityGroupId"
	}
	element = strings.TrimSuffix(element, "Set")
	return strings.ToUpper(element[:1]) + element[1:]
}

// ask asks moto and reads its XML.
func (e *EC2) ask(ctx context.Context, form url.Values, into any) *wire.Error {
	form.Set("Version", "2016-11-15")
	answer, err := e.opts.Moto(ctx, wire.NewCall("ec2", e.opts.Region, form))
	if err != nil {
		return &wire.Error{Status: 500, Code: "InternalError", Message: err.Error()}
	}
	if answer.Status >= 400 {
		var refused struct {
			Code    string `xml:"Errors>Error>Code"`
			Message string `xml:"Errors>Error>Message"`
		}
		_ = xml.Unmarshal(answer.Body, &refused) // what is no XML has no code
		if refused.Code == "" {
			refused.Code, refused.Message = "InternalError", fmt.Sprintf("%s: %s", form.Get("Action"), answer.Body)
		}
		return &wire.Error{Status: answer.Status, Code: refused.Code, Message: refused.Message}
	}
	if err := xml.Unmarshal(answer.Body, into); err != nil {
		return &wire.Error{Status: 500, Code: "InternalError", Message: form.Get("Action") + ": " + err.Error()}
	}
	return nil
}
