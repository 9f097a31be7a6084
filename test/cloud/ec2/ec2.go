// Package ec2 is EC2's instances, fleets, placement groups and capacity reservations in the double of AWS.
package ec2
