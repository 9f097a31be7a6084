package wire

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Operation is the name of the call in AWS's reference, also for the services that
// speak REST, as far as they are known here; otherwise it is the Action.
func (c *Call) Operation() string {
	if c.Protocol != RestXML && c.Protocol != RestJSON {
		return c.Action
	}
	var name string
	switch c.Service {
	case "s3":
		name = bucketOperation(c.Request)
	case "route53":
		name = match(zoneRoutes, c.Request)
	case "elasticfilesystem":
		name = match(fileRoutes, c.Request)
	}
	if name == "" {
		return c.Action
	}
	return name
}

// route is an operation's method and path; a part in braces stands for anything.
type route struct{ method, path, query, name string }

var zoneRoutes = []route{
	{"POST", "2013-04-01/hostedzone", "", "CreateHostedZone"},
	{"GET", "2013-04-01/hostedzone", "", "ListHostedZones"},
	{"GET", "2013-04-01/hostedzonesbyname", "", "ListHostedZonesByName"},
	{"GET", "2013-04-01/hostedzonesbyvpc", "", "ListHostedZonesByVPC"},
	{"GET", "2013-04-01/hostedzone/{}", "", "GetHostedZone"},
	{"DELETE", "2013-04-01/hostedzone/{}", "", "DeleteHostedZone"},
	{"POST", "2013-04-01/hostedzone/{}", "", "UpdateHostedZoneComment"},
	{"POST", "2013-04-01/hostedzone/{}/rrset", "", "ChangeResourceRecordSets"},
	{"GET", "2013-04-01/hostedzone/{}/rrset", "", "ListResourceRecordSets"},
	{"POST", "2013-04-01/hostedzone/{}/associatevpc", "", "AssociateVPCWithHostedZone"},
	{"POST", "2013-04-01/tags/{}/{}", "", "ChangeTagsForResource"},
	{"GET", "2013-04-01/tags/{}/{}", "", "ListTagsForResource"},
	{"GET", "2013-04-01/change/{}", "", "GetChange"},
}

var fileRoutes = []route{
	{"POST", "2015-02-01/file-systems", "", "CreateFileSystem"},
	{"GET", "2015-02-01/file-systems", "", "DescribeFileSystems"},
	{"PUT", "2015-02-01/file-systems/{}", "", "UpdateFileSystem"},
	{"DELETE", "2015-02-01/file-systems/{}", "", "DeleteFileSystem"},
	{"PUT", "2015-02-01/file-systems/{}/lifecycle-configuration", "", "PutLifecycleConfiguration"},
	{"GET", "2015-02-01/file-systems/{}/lifecycle-configuration", "", "DescribeLifecycleConfiguration"},
	{"PUT", "2015-02-01/file-systems/{}/backup-policy", "", "PutBackupPolicy"},
	{"GET", "2015-02-01/file-systems/{}/backup-policy", "", "DescribeBackupPolicy"},
	{"POST", "2015-02-01/mount-targets", "", "CreateMountTarget"},
	{"GET", "2015-02-01/mount-targets", "", "DescribeMountTargets"},
	{"DELETE", "2015-02-01/mount-targets/{}", "", "DeleteMountTarget"},
	{"GET", "2015-02-01/mount-targets/{}/security-groups", "", "DescribeMountTargetSecurityGroups"},
	{"POST", "2015-02-01/access-points", "", "CreateAccessPoint"},
	{"GET", "2015-02-01/access-points", "", "DescribeAccessPoints"},
	{"DELETE", "2015-02-01/access-points/{}", "", "DeleteAccessPoint"},
	{"POST", "2015-02-01/resource-tags/{}", "", "TagResource"},
	{"GET", "2015-02-01/resource-tags/{}", "", "ListTagsForResource"},
}

// The operations of S3 on a bucket, and on an object. A query key tells some apart.
var bucketRoutes = []route{
	{"GET", "", "location", "GetBucketLocation"}, {"GET", "", "versioning", "GetBucketVersioning"}, {"PUT", "", "versioning", "PutBucketVersioning"},
	{"GET", "", "policy", "GetBucketPolicy"}, {"PUT", "", "policy", "PutBucketPolicy"}, {"DELETE", "", "policy", "DeleteBucketPolicy"},
	{"GET", "", "tagging", "GetBucketTagging"}, {"PUT", "", "tagging", "PutBucketTagging"}, {"DELETE", "", "tagging", "DeleteBucketTagging"},
	{"GET", "", "encryption", "GetBucketEncryption"}, {"PUT", "", "encryption", "PutBucketEncryption"},
	{"GET", "", "publicAccessBlock", "GetPublicAccessBlock"}, {"PUT", "", "publicAccessBlock", "PutPublicAccessBlock"},
	{"GET", "", "lifecycle", "GetBucketLifecycleConfiguration"}, {"PUT", "", "lifecycle", "PutBucketLifecycleConfiguration"},
	{"GET", "", "ownershipControls", "GetBucketOwnershipControls"}, {"PUT", "", "ownershipControls", "PutBucketOwnershipControls"},
	{"GET", "", "uploads", "ListMultipartUploads"}, {"GET", "", "versions", "ListObjectVersions"}, {"POST", "", "delete", "DeleteObjects"},
	{"GET", "", "list-type", "ListObjectsV2"}, {"GET", "", "", "ListObjects"},
	{"PUT", "", "", "CreateBucket"}, {"HEAD", "", "", "HeadBucket"}, {"DELETE", "", "", "DeleteBucket"},
}

var objectRoutes = []route{
	{"POST", "", "uploads", "CreateMultipartUpload"}, {"PUT", "", "uploadId", "UploadPart"}, {"POST", "", "uploadId", "CompleteMultipartUpload"},
	{"GET", "", "uploadId", "ListParts"}, {"DELETE", "", "uploadId", "AbortMultipartUpload"},
	{"GET", "", "tagging", "GetObjectTagging"}, {"PUT", "", "tagging", "PutObjectTagging"}, {"GET", "", "attributes", "GetObjectAttributes"},
	{"GET", "", "", "GetObject"}, {"PUT", "", "", "PutObject"}, {"HEAD", "", "", "HeadObject"}, {"DELETE", "", "", "DeleteObject"},
}

func bucketOperation(r *http.Request) string {
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case bucket == "" && r.Method == http.MethodGet:
		return "ListBuckets"
	case key == "":
		return byQuery(bucketRoutes, r.Method, r.URL.Query())
	case r.Method == http.MethodPut && r.Header.Get("X-Amz-Copy-Source") != "":
		return "CopyObject"
	}
	return byQuery(objectRoutes, r.Method, r.URL.Query())
}

func byQuery(routes []route, method string, query url.Values) string {
	i := slices.IndexFunc(routes, func(x route) bool { return x.method == method && (x.query == "" || query.Has(x.query)) })
	if i < 0 {
		return ""
	}
	return routes[i].name
}

func match(routes []route, r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for _, x := range routes {
		want := strings.Split(x.path, "/")
		same := func(a, b string) bool { return b == "{}" || a == b }
		if x.method == r.Method && slices.EqualFunc(parts, want, same) {
			return x.name
		}
	}
	return ""
}
