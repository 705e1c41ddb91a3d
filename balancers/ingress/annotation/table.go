// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package annotation

// The annotations of a group: of its load balancer and security groups.
var (
	GroupName = add(Annotation{
		Name: "group.name", Scope: OfIngress,
		Example: "shop",
		Doc:     "The group that the Ingress belongs to. Its members share a load balancer, whatever their namespaces.",
	}, func(value string) (string, error) { return value, CheckGroupName(value) })
	GroupOrder = add(Annotation{
		Name: "group.order", Scope: OfIngress, Default: "0",
		Example: "10",
		Doc:     "Where the Ingress's rules stand among those of its group: lower numbers first, then by namespace and name.",
	}, intBetween(-1000, 1000))
	LoadBalancerNameKey = add(Annotation{
		Name: "load-balancer-name", Scope: OfGroup, Combine: Agree, Example: "shop-edge",
		Doc: "The load balancer's name. It is used only when the load balancer is created: a later change has no effect. " +
			"One that replaces another of that name, as the scheme changes, has another name, which an event says. It may not begin with k8s-.",
	}, textUpTo(32))
	Scheme = add(Annotation{
		Name: "scheme", Scope: OfGroup, Combine: Agree,
		Example: "internet-facing",
		Doc:     "Whether the load balancer has public addresses. The default is that of --default-load-balancer-scheme.",
	}, oneOf("internal", "internet-facing"))
	AddressType = add(Annotation{
		Name: "ip-address-type", Scope: OfGroup, Combine: Agree, Default: "ipv4",
		Example: "dualstack",
		Doc:     "The address families that clients may use.",
	}, oneOf("ipv4", "dualstack", OnlyPublicIPv6))
	Subnets = add(Annotation{
		Name: "subnets", Scope: OfGroup, Combine: Agree,
		Example: "subnet-0a1b2c3d, private-b",
		Doc:     "The load balancer's subnets, as IDs or values of their Name tags, one for each zone. Without it they are found by their tags.",
	}, parseShortList)
	SecurityGroups = add(Annotation{
		Name: "security-groups", Scope: OfGroup, Combine: AgreeInOrder,
		Example: "sg-0a1b2c3d, edge",
		Doc:     "The load balancer's security groups, as IDs or values of their Name tags, in the place of one that is made for it.",
	}, parseSecurityGroups)
	ManageBackendRules = add(Annotation{
		Name: "manage-backend-security-group-rules", Scope: OfGroup, Combine: Agree,
		Example: "true",
		Doc: "Whether rules from the load balancer to its targets are made although security-groups is given. " +
			"The default is that of --enable-manage-backend-security-group-rules.",
	}, parseBool)
	LoadBalancerAttributes = add(Annotation{
		Name: "load-balancer-attributes", Scope: OfGroup, Combine: MergeKeys,
		Example: "idle_timeout.timeout_seconds=30,deletion_protection.enabled=true",
		Doc:     "Attributes of the load balancer. Others stay as they are, unless --reset-attributes is set.",
	}, AttributesOfBalancer.parse)
	WAFv2ACL = add(Annotation{
		Name: "wafv2-acl-arn", Scope: OfGroup, Combine: Agree,
		Example: "arn:aws:wafv2:eu-west-1:123456789012:regional/webacl/edge/1a2b",
		Doc: "The ARN of the AWS WAF web ACL of the load balancer; \"none\" removes the present one. Without it nothing is " +
			"changed. A new Ingress gets its host name once the web ACL is set.",
	}, parseWebACL)
	WAFv2ACLName = add(Annotation{
		Name: "wafv2-acl-name", Scope: OfGroup, Combine: Agree,
		Example: "edge",
		Doc:     "The name of the regional AWS WAF web ACL of the load balancer; \"none\" removes the present one. It overrides wafv2-acl-arn.",
	}, parseText)
	WAFClassicACL = add(Annotation{
		Name: "waf-acl-id", Scope: OfGroup, Combine: Agree,
		Example: "8d1e4a3c-0b52-4f8e-9a41-6c7d2e5f9b10",
		Doc: "The ID of the AWS WAF Classic web ACL of the load balancer; \"none\" removes the present one. Without it nothing " +
			"is changed. AWS has retired the service: put wafv2-acl-arn in its place, and AWS has that web ACL take over; a group cannot have " +
			"both. The ID has no effect in a Region where the name of the service's endpoint does not exist.",
	}, parseClassicACL)
	WAFClassicACLAlias = add(Annotation{
		Name: "web-acl-id", Scope: OfGroup, Combine: Agree, Example: "8d1e4a3c-0b52-4f8e-9a41-6c7d2e5f9b10",
		Doc: "The former name of waf-acl-id. It is ignored if waf-acl-id is set.",
	}, parseClassicACL)
	CustomerPool = add(Annotation{
		Name: "customer-owned-ipv4-pool", Scope: OfGroup, Combine: Agree,
		Example: "ipv4pool-coip-0a1b2c3d",
		Doc:     "The customer-owned IPv4 pool of a load balancer on an Outpost. It is used only when the load balancer is created.",
	}, parsePool("ipv4pool-coip"))
	IPAMPool = add(Annotation{
		Name: "ipam-ipv4-pool-id", Scope: OfGroup, Combine: Agree,
		Example: "ipam-pool-0a1b2c3d",
		Doc:     "The ID of the IPAM pool of the load balancer's public IPv4 addresses. Without it they are Amazon's.",
	}, parsePool("ipam-pool"))
	Capacity = add(Annotation{
		Name: "minimum-load-balancer-capacity", Scope: OfGroup, Combine: Agree,
		Example: "CapacityUnits=1000",
		Doc: "The capacity units that are reserved for the load balancer, as CapacityUnits=1000; 0 reserves none. Without it nothing is " +
			"changed.",
	}, parseCapacity)
	Shield = add(Annotation{
		Name: "shield-advanced-protection", Scope: OfGroup, Combine: Agree,
		Example: "true",
		Doc: "Whether AWS Shield Advanced protects the load balancer. With false, only what was made for an Ingress ends. Without it " +
			"nothing is changed.",
	}, parseBool)
	Tags = add(Annotation{
		Name: "tags", Scope: OfTargetGroup, Combine: MergeKeys,
		Example: "team=web,stage=prod",
		Doc:     "Tags of all that is made in AWS. Those whose keys begin as controllers' do, such as `elbv2.k8s.aws/`, are left out.",
	}, mapOf(mostTags, "tags"))
)

// The annotations of listeners.
var (
	InboundCIDRs = add(Annotation{
		Name: "inbound-cidrs", Scope: OfListener, Combine: Agree, Default: "0.0.0.0/0, ::/0",
		Example: "10.0.0.0/8, 2001:db8::/32",
		Doc:     "Which addresses may send to the listeners. It is ignored if security-groups is set.",
	}, parseCIDRs)
	PrefixLists = add(Annotation{
		Name: "security-group-prefix-lists", Scope: OfListener, Combine: Agree,
		Example: "pl-0a1b2c3d",
		Doc:     "IDs of prefix lists whose addresses may send to the listeners. It is ignored if security-groups is set.",
	}, parsePrefixLists)
	Certificates = add(Annotation{
		Name: "certificate-arn", Scope: OfListener, Combine: Union,
		Example: "arn:aws:acm:eu-west-1:123456789012:certificate/1a2b",
		Doc:     "ARNs of the certificates of HTTPS listeners; the first is the default. Without it they are found in ACM by their hosts.",
	}, ParseCertificates)
	IssueCertificate = add(Annotation{
		Name: "create-acm-cert", Scope: OfListener, Default: "false",
		Example: "true",
		Doc: "Whether ACM is to issue one certificate for all hosts of the Ingress. It needs the feature gate EnableCertificateManagement, " +
			"and is ignored if certificate-arn is set.",
	}, parseBool)
	PrivateCA = add(Annotation{
		Name: "acm-pca-arn", Scope: OfListener,
		Example: "arn:aws:acm-pca:eu-west-1:123456789012:certificate-authority/1a2b",
		Doc: "ARN of the private certificate authority that is to issue the certificate of create-acm-cert. The default is that of " +
			"--default-pca-arn; without both Amazon issues it.",
	}, parseCA)
	SSLPolicy = add(Annotation{
		Name: "ssl-policy", Scope: OfListener, Combine: Agree,
		Example: "ELBSecurityPolicy-TLS13-1-2-2021-06",
		Doc:     "The security policy of HTTPS listeners. The default is that of --default-ssl-policy.",
	}, parseText)
	SSLRedirect = add(Annotation{
		Name: "ssl-redirect", Scope: OfGroup, Combine: Agree,
		Example: "443",
		Doc:     "The port of an HTTPS listener to which all HTTP listeners of the group redirect; they have no other rules then.",
	}, intBetween(1, 65535))
)

// The annotations of listeners and rules whose values are JSON, and what goes with them.
var (
	ListenPorts = add(Annotation{
		Name: "listen-ports", Scope: OfListener, Default: `[{"HTTP": 80}], with certificate-arn or create-acm-cert [{"HTTPS": 443}]`,
		Example: `[{"HTTP": 80}, {"HTTPS": 443}]`,
		Doc:     "The listeners of the Ingress.",
	}, parseListenPorts)
	ListenerAttributes = add(Annotation{
		Name: "listener-attributes.", Scope: OfListener, Combine: MergeKeys,
		Example: "HTTPS-443: routing.http.response.server.enabled=false",
		Doc: "Attributes of the listener whose protocol and port follow, such as listener-attributes.HTTPS-443. Others stay as they are, " +
			"unless --reset-attributes is set.",
	}, AttributesOfListener.parse)
	Actions = add(Annotation{
		Name: "actions.", Scope: OfIngress,
		Example: `maintenance: {"type": "fixed-response", "fixedResponseConfig": {"statusCode": "503", "contentType": ` +
			`"text/plain", "messageBody": "back soon"}}`,
		Doc: "What is done with requests of paths whose backend has this service name and the port name use-annotation.",
	}, parseAction)
	Conditions = add(Annotation{
		Name: "conditions.", Scope: OfIngress,
		Example: `web: [{"field": "http-header", "httpHeaderConfig": {"httpHeaderName": "X-Beta", "values": ["yes"]}}]`,
		Doc:     "What else must hold for requests of paths whose backend has this service name.",
	}, parseConditions)
	RegexPaths = add(Annotation{
		Name: "use-regex-path-match", Scope: OfIngress, Default: "false",
		Example: "true",
		Doc:     "Whether paths of type ImplementationSpecific are regular expressions.",
	}, parseBool)
)

// The annotations of target groups.
var (
	TargetType = add(Annotation{
		Name: "target-type", Scope: OfTargetGroup,
		Example: "ip",
		Doc:     "Whether nodes or pods are the targets. The default is that of --default-target-type.",
	}, oneOf("instance", "ip"))
	BackendProtocol = add(Annotation{
		Name: "backend-protocol", Scope: OfTargetGroup, Default: "HTTP", Doc: "The protocol to targets.",
		Example: "HTTPS",
	}, oneOf("HTTP", "HTTPS"))
	BackendProtocolVersion = add(Annotation{
		Name: "backend-protocol-version", Scope: OfTargetGroup, Default: "HTTP1", Doc: "The version of HTTP to targets.",
		Example: "GRPC",
	}, oneOf("HTTP1", "HTTP2", "GRPC"))
	TargetGroupAttributes = add(Annotation{
		Name: "target-group-attributes", Scope: OfTargetGroup,
		Example: "deregistration_delay.timeout_seconds=30",
		Doc:     "Attributes of the target groups. Others stay as they are, unless --reset-attributes is set.",
	}, parseGroupAttributes)
	HealthCheckPort = add(Annotation{
		Name: "healthcheck-port", Scope: OfTargetGroup, Default: "traffic-port",
		Example: "8080",
		Doc:     "The port of health checks: traffic-port, a number, or the name of a port of the Service.",
	}, parseText)
	HealthCheckProtocol = add(Annotation{
		Name: "healthcheck-protocol", Scope: OfTargetGroup, Doc: "The protocol of health checks. The default is that of backend-protocol.",
		Example: "HTTP",
	}, oneOf("HTTP", "HTTPS"))
	HealthCheckPath = add(Annotation{
		Name: "healthcheck-path", Scope: OfTargetGroup, Default: "/",
		Example: "/healthz",
		Doc:     "The path of health checks. The default of GRPC is /AWS.ALB/healthcheck.",
	}, parseCheckPath)
	HealthCheckInterval = add(Annotation{
		Name: "healthcheck-interval-seconds", Scope: OfTargetGroup, Default: "15", Doc: "The seconds from one health check to the next.",
		Example: "10",
	}, intBetween(5, 300))
	HealthCheckTimeout = add(Annotation{
		Name: "healthcheck-timeout-seconds", Scope: OfTargetGroup, Default: "5", Doc: "The seconds that a health check may take.",
		Example: "3",
	}, intBetween(2, 120))
	HealthyThreshold = add(Annotation{
		Name: "healthy-threshold-count", Scope: OfTargetGroup, Default: "2", Example: "2",
		Doc: "How many passed health checks in a row make an unhealthy target healthy.",
	}, intBetween(2, 10))
	UnhealthyThreshold = add(Annotation{
		Name: "unhealthy-threshold-count", Scope: OfTargetGroup, Default: "2", Example: "3",
		Doc: "How many failed health checks in a row make a target unhealthy.",
	}, intBetween(2, 10))
	SuccessCodes = add(Annotation{
		Name: "success-codes", Scope: OfTargetGroup, Default: "200", Doc: "The status codes of a passed health check. The default of GRPC is 12.",
		Example: "200-299",
	}, parseText)
	TargetNodeLabels = add(Annotation{
		Name: "target-node-labels", Scope: OfTargetGroup, Doc: "The labels of nodes that are targets of type instance.",
		Example: "pool=web",
	}, mapOf(mostListed, "labels"))
	TargetControlPort = add(Annotation{
		Name: "target-control-port.", Scope: OfTargetGroup, Example: "web.80: 3000",
		Doc: "The port at which AWS's agent in each pod says how many requests the pod takes. A Service and its port follow, as the Ingress " +
			"has it. Targets must be of type ip. Another value replaces the target group. No agent is added to pods.",
	}, intBetween(1, 65535))
	MultiCluster = add(Annotation{
		Name: "multi-cluster-target-group", Scope: OfTargetGroup, Default: "false", Doc: "Whether other clusters register targets, too.",
		Example: "true",
	}, parseBool)
)

// The annotations of who may pass, and of changed requests.
var (
	AuthType = add(Annotation{
		Name: "auth-type", Scope: OfTargetGroup, Default: NoAuth,
		Example: "oidc",
		Doc: "Whether users log in before requests are answered, and where: at an OpenID Connect provider or at Amazon Cognito. It applies to " +
			"HTTPS listeners; those for HTTP stay open.",
	}, oneOf(NoAuth, OIDCAuth, CognitoAuth))
	AuthCognito = add(Annotation{
		Name: "auth-idp-cognito", Scope: OfTargetGroup, Doc: "The user pool of Amazon Cognito, its client and its domain.",
		Example: `{"userPoolARN": "arn:aws:cognito-idp:eu-west-1:123456789012:userpool/p", "userPoolClientID": ` +
			`"shop", "userPoolDomain": "shop"}`,
	}, parseCognito)
	AuthOIDC = add(Annotation{
		Name: "auth-idp-oidc", Scope: OfTargetGroup,
		Example: `{"issuer": "https://idp.example", "authorizationEndpoint": "https://idp.example/authorize", ` +
			`"tokenEndpoint": "https://idp.example/token", "userInfoEndpoint": "https://idp.example/user", ` +
			`"secretName": "login"}`,
		Doc: "The endpoints of an OpenID Connect provider, and the Secret with clientID and clientSecret in the namespace of the Ingress.",
	}, parseOIDC)
	AuthUnauthenticated = add(Annotation{
		Name: "auth-on-unauthenticated-request", Scope: OfTargetGroup, Default: "authenticate",
		Example: "deny",
		Doc: "What is done with requests of users who are not logged in: authenticate sends them to log in, allow lets them pass, deny " +
			"answers 401.",
	}, oneOf("authenticate", "allow", "deny"))
	AuthScope = add(Annotation{
		Name: "auth-scope", Scope: OfTargetGroup, Default: "openid", Doc: "What is asked for of a user at the login.",
		Example: "openid email",
	}, parseText)
	AuthCookie = add(Annotation{
		Name: "auth-session-cookie", Scope: OfTargetGroup, Default: "AWSELBAuthSessionCookie", Doc: "The name of the cookie of a session.",
		Example: "shop-session",
	}, parseText)
	AuthTimeout = add(Annotation{
		Name: "auth-session-timeout", Scope: OfTargetGroup, Default: "604800", Doc: "The seconds that a session lasts at most.",
		Example: "3600",
	}, intBetween(1, 604800))
	MutualAuthentication = add(Annotation{
		Name: "mutual-authentication", Scope: OfListener, Combine: Agree,
		Example: `[{"port": 443, "mode": "verify", "trustStore": "partners"}]`,
		Doc:     "Whether clients of HTTPS listeners show a certificate. Without it nothing is changed, unless --reset-attributes is set.",
	}, parseMutualAuth)
	JWTValidation = add(Annotation{
		Name: "jwt-validation", Scope: OfIngress,
		Example: `{"jwksEndpoint": "https://idp.example/keys", "issuer": "https://idp.example"}`,
		Doc:     "Which JSON Web Tokens requests must bring. It applies to HTTPS listeners; those for HTTP stay open.",
	}, parseJWT)
	Transforms = add(Annotation{
		Name: "transforms.", Scope: OfIngress,
		Example: `web: [{"type": "url-rewrite", "urlRewriteConfig": {"rewrites": [{"regex": "^/v1/(.*)", "replace": ` +
			`"/$1"}]}}]`,
		Doc: "How the host and the URL of requests are rewritten, for paths whose backend has this service name.",
	}, parseTransforms)
)
