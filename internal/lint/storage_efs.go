package lint

import (
	"github.com/muster-hpc/muster/internal/diag"
	"github.com/muster-hpc/muster/internal/spec"
)

// efsStorage has the rules about an EFS file system.
func efsStorage(s spec.View) {
	efs := s.Key("EfsSettings")
	efsThroughput(efs)
	efsMount(efs)
	keyEncrypted(efs)
}

// efsThroughput holds what ParallelCluster's schema says of ThroughputMode.
func efsThroughput(efs spec.View) {
	mode, speed := efs.Key("ThroughputMode"), efs.Key("ProvisionedThroughput")
	if !mode.Sound() || !speed.Sound() {
		return
	}
	provisioned := mode.Text() == "provisioned"
	switch {
	case speed.Present() && !provisioned && mode.Present():
		mode.Errorf("efs/throughput", "ProvisionedThroughput needs ThroughputMode: provisioned, and it is %s", mode.Text()).
			WithHint("write ThroughputMode: provisioned, or remove ProvisionedThroughput")
	case speed.Present() && !provisioned:
		speed.Errorf("efs/throughput", "ProvisionedThroughput needs ThroughputMode: provisioned").
			WithHint("add ThroughputMode: provisioned, or remove ProvisionedThroughput")
	case provisioned && !speed.Present():
		mode.Errorf("efs/throughput", "ThroughputMode: provisioned needs ProvisionedThroughput").
			WithHint("add ProvisionedThroughput with a number of MiB/s from 1 to 1024")
	}
}

// efsMount holds ParallelCluster's EfsMountOptionsValidator and
// EfsAccessPointOptionsValidator.
func efsMount(efs spec.View) {
	tls, iam, point := efs.Key("EncryptionInTransit"), efs.Key("IamAuthorization"), efs.Key("AccessPointId")
	encrypt := switchOn(efs, "EncryptionInTransit")
	if iam.Given() && iam.Bool() && tls.Sound() && !tls.Bool() {
		iam.Errorf("efs/iam", "IamAuthorization needs EncryptionInTransit").
			WithHint("write EncryptionInTransit: true").WithFix(encrypt)
	}
	if !filled(point) {
		return
	}
	if tls.Sound() && !tls.Bool() {
		point.Errorf("efs/access-point", "an access point needs EncryptionInTransit").
			WithHint("write EncryptionInTransit: true").WithFix(encrypt)
	}
	if !efs.Key("FileSystemId").Present() {
		point.Errorf("efs/access-point", "an access point belongs to a file system that exists already, and FileSystemId is missing").
			WithHint("add FileSystemId, or remove AccessPointId")
	}
}

// keyEncrypted holds ParallelCluster's KmsKeyIdEncryptedValidator.
func keyEncrypted(settings spec.View) {
	key, encrypted := settings.Key("KmsKeyId"), settings.Key("Encrypted")
	if filled(key) && encrypted.Sound() && !encrypted.Bool() {
		key.Errorf("storage/key-unused", "KmsKeyId is given, and Encrypted is false").
			WithHint("write Encrypted: true").WithFix(switchOn(settings, "Encrypted"))
	}
}

// switchOn is the fix that adds a key with true. A false in the file was meant, and
// stays.
func switchOn(v spec.View, key string) *diag.Fix {
	if v.Key(key).Present() {
		return nil
	}
	return v.Insert(key, "true")
}
