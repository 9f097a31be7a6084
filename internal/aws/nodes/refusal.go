package nodes

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/muster-hpc/muster/internal/provider"
	"github.com/muster-hpc/muster/internal/say/count"
)

// class is what a code of AWS means for us, and where it is documented.
type class struct {
	cause  provider.Cause
	source string
}

// Where codes are documented.
const (
	errorCodes = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html"
	commonCode = "https://docs.aws.amazon.com/AWSEC2/latest/APIReference/CommonErrors.html"
	dnsErrors  = "https://docs.aws.amazon.com/Route53/latest/APIReference/API_ChangeResourceRecordSets.html"
	// ParallelCluster's node package fails over to another compute resource on these:
	// slurm_plugin/slurm_resources.py.
	failover = "https://github.com/aws/aws-parallelcluster-node"
	// Karpenter's lists of codes of CreateFleet: pkg/errors/errors.go.
	fleets = "https://github.com/aws/karpenter-provider-aws"
	// The SDK's list of throttling codes: aws/retry/standard.go.
	throttles = "https://github.com/aws/aws-sdk-go-v2"
	ours      = "this package"
)

// causes are AWS's codes for refused launches.
var causes = map[string]class{
	"InsufficientInstanceCapacity":         {provider.Capacity, errorCodes},
	"InsufficientHostCapacity":             {provider.Capacity, errorCodes},
	"InsufficientCapacityOnHost":           {provider.Capacity, errorCodes},
	"InsufficientReservedInstanceCapacity": {provider.Capacity, errorCodes},
	"InsufficientCapacity":                 {provider.Capacity, errorCodes},
	"InsufficientVolumeCapacity":           {provider.Capacity, errorCodes},
	"InsufficientAddressCapacity":          {provider.Capacity, errorCodes},
	"UnfulfillableCapacity":                {provider.Capacity, errorCodes},
	"MaxSpotInstanceCountExceeded":         {provider.Capacity, failover},
	"SpotMaxPriceTooLow":                   {provider.Capacity, failover},
	"Unsupported":                          {provider.Capacity, failover}, // not in this zone
	"ReservationCapacityExceeded":          {provider.Capacity, fleets},
	"InsufficientFreeAddressesInSubnet":    {provider.Capacity, fleets}, // another subnet may have some
	limited:                                {provider.Capacity, ours},
	// A capacity block whose time has not come. EC2 names other states of reservations
	// in the same way: see causeOf.
	reservationState + ".PendingActivation": {provider.Capacity, errorCodes},

	"VcpuLimitExceeded":              {provider.Limit, errorCodes},
	"InstanceLimitExceeded":          {provider.Limit, errorCodes},
	"VolumeLimitExceeded":            {provider.Limit, errorCodes},
	"MaxIOPSLimitExceeded":           {provider.Limit, errorCodes},
	"NetworkInterfaceLimitExceeded":  {provider.Limit, errorCodes},
	"ReservedInstancesLimitExceeded": {provider.Limit, errorCodes},
	"PendingVerification":            {provider.Limit, errorCodes},
	"OptInRequired":                  {provider.Limit, errorCodes},
	"Blocked":                        {provider.Limit, errorCodes},
	"MaxFleetCountExceeded":          {provider.Limit, fleets},

	"RequestLimitExceeded":     {provider.Throttled, errorCodes},
	"Throttling":               {provider.Throttled, throttles},
	"ThrottlingException":      {provider.Throttled, throttles},
	"ThrottledException":       {provider.Throttled, throttles},
	"RequestThrottled":         {provider.Throttled, throttles},
	"TooManyRequestsException": {provider.Throttled, throttles},
	"EC2ThrottledException":    {provider.Throttled, throttles},
	"PriorRequestNotComplete":  {provider.Throttled, dnsErrors},

	"UnauthorizedOperation":      {provider.Permission, errorCodes},
	"AuthFailure":                {provider.Permission, errorCodes},
	"RequestExpired":             {provider.Permission, errorCodes},
	"SignatureDoesNotMatch":      {provider.Permission, errorCodes},
	"MissingAuthenticationToken": {provider.Permission, commonCode},
	"AccessDenied":               {provider.Permission, commonCode},
	"AccessDeniedException":      {provider.Permission, commonCode},
	"ExpiredToken":               {provider.Permission, commonCode},
	"ExpiredTokenException":      {provider.Permission, commonCode},
	"InvalidClientTokenId":       {provider.Permission, commonCode},

	// EC2 may have acted all the same; of the last, its launch is over.
	"InternalError":      {provider.Unknown, errorCodes},
	"InternalFailure":    {provider.Unknown, errorCodes},
	"ServerInternal":     {provider.Unknown, errorCodes},
	"ServiceUnavailable": {provider.Unknown, errorCodes},
	"Unavailable":        {provider.Unknown, errorCodes},
	"RequestTimeout":     {provider.Unknown, throttles},
	mismatch:             {provider.Unknown, errorCodes},
	tokenOver:            {provider.Unknown, errorCodes},
}

// reservationState begins codes for a reservation that is not, or no longer, active.
const reservationState = "InvalidCapacityReservationState"

// limited is what nodes get that EC2 silently left out of a launch.
const limited = "LimitedInstanceCapacity"

// mismatch is that a token was used for another request.
const mismatch = "IdempotentParameterMismatch"

// tokenOver is that the instances of a token have ended already.
const tokenOver = "IdempotentInstanceTerminated"

// causeOf sorts a code. Configuration are the request errors that we do not know:
// they come again however often the call is made.
func causeOf(code string, fault smithy.ErrorFault) provider.Cause {
	c, known := causes[code]
	switch {
	case known:
		return c.cause
	case strings.HasPrefix(code, reservationState):
		return provider.Capacity
	case strings.HasPrefix(code, "AuthFailure."):
		return provider.Permission
	case fault == smithy.FaultServer:
		return provider.Unknown
	}
	return provider.Configuration
}

// refusal says why a launch failed. definite is that EC2 has started no instance.
func refusal(err error) (refused *provider.LaunchError, definite bool) {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return &provider.LaunchError{Cause: provider.Unknown, Message: err.Error()}, false
	}
	cause := causeOf(api.ErrorCode(), faultOf(err))
	refused = &provider.LaunchError{Cause: cause, Code: api.ErrorCode(), Message: api.ErrorMessage()}
	return refused, cause != provider.Unknown || api.ErrorCode() == tokenOver
}

// faultOf tells whose fault an error is, by its status.
func faultOf(err error) smithy.ErrorFault {
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) && answer.HTTPStatusCode() >= 500 {
		return smithy.FaultServer
	}
	return smithy.FaultClient
}

// again decides which calls are made again: those that were throttled and those
// whose answer is lost. EC2 says with status 500 that it has no capacity, which
// the SDK takes for a hiccup: asking again in place only keeps jobs waiting.
func again(err error) aws.Ternary {
	if errors.Is(err, context.Canceled) {
		return aws.FalseTernary
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return aws.UnknownTernary
	}
	if code := api.ErrorCode(); code == mismatch || code == tokenOver {
		return aws.FalseTernary
	}
	cause := causeOf(api.ErrorCode(), faultOf(err))
	return aws.BoolTernary(cause == provider.Throttled || cause == provider.Unknown)
}

// throttled tells whether a call came too early.
func throttled(err error) bool {
	var api smithy.APIError
	return errors.As(err, &api) && causeOf(api.ErrorCode(), faultOf(err)) == provider.Throttled
}

// short are nodes that EC2 left out of a launch.
func short(got, asked int) *provider.LaunchError {
	return &provider.LaunchError{Cause: provider.Capacity, Code: limited, Message: fmt.Sprintf("EC2 started %d of %s", got, count.Of(asked, "instance"))}
}
