package lint

import "github.com/muster-hpc/muster/internal/spec"

// monitoring holds ParallelCluster's LogRotationValidator and
// DetailedMonitoringValidator.
func monitoring(v spec.View) {
	if detailed := v.Key("DetailedMonitoring"); detailed.Given() && detailed.Bool() {
		detailed.Warnf("monitoring/detailed", "EC2 measures every minute, and each instance costs more for it").
			WithHint("remove DetailedMonitoring unless you read these graphs")
	}
	logs, rotation := v.At("Logs.CloudWatch.Enabled"), v.At("Logs.Rotation.Enabled")
	if logs.Sound() && !logs.Bool() && rotation.Sound() && rotation.Bool() {
		at := logs
		if rotation.Present() {
			at = rotation
		}
		at.Warnf("monitoring/logs-lost", "logs do not go to CloudWatch, and rotation removes them from the nodes").
			WithHint("write Logs: {Rotation: {Enabled: false}} to keep them on the nodes")
	}
}
