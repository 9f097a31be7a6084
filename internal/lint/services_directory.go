package lint

import (
	"strings"

	"github.com/muster-hpc/muster/internal/spec"
	"github.com/muster-hpc/muster/internal/sys/pattern"
)

// directory has the rules about DirectoryService.
func directory(root spec.View) {
	v := root.Key("DirectoryService")
	sssd := map[string]spec.View{}
	for _, e := range v.Key("AdditionalSssdConfigs").Entries() {
		sssd[e.Key] = e.Value
	}
	domainAddress(v.Key("DomainAddr"), sssd)
	domainName(v.Key("DomainName"))
	secret(v.Key("PasswordSecretArn"), root.Key("Region"))
	if cert := v.Key("LdapTlsReqCert"); filled(cert) && cert.Text() != "hard" && cert.Text() != "demand" {
		cert.Warnf("directory/certificate", "with LdapTlsReqCert: %s a wrong certificate of the directory is not noticed", cert.Text()).
			WithHint("write hard")
	}
	sssdSettings(sssd, v.Key("LdapAccessFilter"))
}

// plainLDAP is the setting of SSSD that lets passwords go unencrypted.
const plainLDAP = "ldap_auth_disable_tls_never_use_in_production"

// domainAddress holds ParallelCluster's DomainAddrValidator.
func domainAddress(v spec.View, sssd map[string]spec.View) {
	if !filled(v) {
		return
	}
	switch scheme := urlScheme(v.Text()); scheme {
	case "ldaps":
	case "":
		v.Warnf("directory/address", "the directory's address has no protocol; ldaps:// is assumed").
			WithHint("write ldaps://%s", v.Text())
	case "ldap":
		d := v.Warnf("directory/address", "ldap:// sends passwords unencrypted")
		if tls, ok := sssd[plainLDAP]; ok && strings.EqualFold(tls.Text(), "true") {
			d.WithHint("write ldaps://")
			return
		}
		d.WithHint("write ldaps://; for ldap://, SSSD needs AdditionalSssdConfigs: {%s: true}", plainLDAP)
	default:
		d := v.Warnf("directory/address", "%s is no protocol of a directory", quoted(scheme)).WithHint("write ldaps://HOST")
		if !strings.Contains(v.Text(), "://") {
			d.WithHint("write ldaps://%s", v.Text())
		}
	}
}

// domainPattern is a domain, or a distinguished name of domain components.
var domainPattern = pattern.New(`^[a-zA-Z0-9_-]+(\.[a-zA-Z0-9_-]+)*$|^(DC|dc)=[a-zA-Z0-9_-]+(,(DC|dc)=[a-zA-Z0-9_-]+)*$`)

// domainName holds ParallelCluster's DomainNameValidator.
func domainName(v spec.View) {
	if filled(v) && !domainPattern().MatchString(v.Text()) {
		v.Errorf("directory/domain", "%s is no domain of a directory", quoted(v.Text())).
			WithHint("write corp.example.com or DC=corp,DC=example,DC=com")
	}
}

// sssdSettings holds ParallelCluster's AdditionalSssdConfigsValidator.
func sssdSettings(sssd map[string]spec.View, filter spec.View) {
	if v, ok := sssd["id_provider"]; ok && v.Text() != "ldap" {
		v.Errorf("directory/sssd", "id_provider must be ldap, not %s", quoted(v.Text())).
			WithHint("write id_provider: ldap, or remove it").WithFix(v.Replace("ldap"))
	}
	if v, ok := sssd["access_provider"]; ok && filter.Present() && v.Text() != "ldap" {
		v.Errorf("directory/sssd", "LdapAccessFilter needs access_provider ldap, and it is %s", quoted(v.Text())).
			WithHint("write access_provider: ldap, or remove LdapAccessFilter")
	}
}

// secret holds what ParallelCluster's PasswordSecretArnValidator can say without
// AWS. One region takes parameters of Systems Manager, too.
func secret(v, region spec.View) {
	if !filled(v) {
		return
	}
	service, kind := arnParts(v.Text())
	switch {
	case service == "secretsmanager" && kind == "secret":
	case service == "ssm" && strings.HasPrefix(kind, "parameter/") && (!region.Present() || region.Text() == "us-isob-east-1"):
	default:
		v.Errorf("secret/arn", "%s is no secret of Secrets Manager", quoted(v.Text())).
			WithHint("write arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME; `aws secretsmanager list-secrets` lists them")
	}
}

// arnParts are an ARN's service and the kind of its resource, empty if it has
// too few parts.
func arnParts(arn string) (service, kind string) {
	parts := strings.Split(arn, ":")
	if len(parts) < 6 {
		return "", ""
	}
	return parts[2], parts[5]
}
