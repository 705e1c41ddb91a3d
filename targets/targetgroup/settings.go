// Copyright The targetgate Authors.
// SPDX-License-Identifier: Apache-2.0

package targetgroup

import (
	"context"
	"time"

	"k8s.io/utils/ptr"

	"github.com/targetgate/targetgate/aws/awserr"
	"github.com/targetgate/targetgate/aws/budget"
	"github.com/targetgate/targetgate/aws/elbv2"
	"github.com/targetgate/targetgate/targets/retry"
	"github.com/targetgate/targetgate/targets/v1beta1"
)

// settings is what AWS says of the group itself.
type settings struct {
	retry.Slot
	last         *v1beta1.TargetGroupSettings // nil before they were read
	readAt       time.Time                    // when the last successful reading was started
	unattachedAt time.Time                    // when the first of the last readings that show no load balancer was started
	delayDenied  error                        // AWS's word that we may not read the deregistration delay, nil when there is none
}

// unattachedAge is how old the first reading may be that shows no load balancer: often the target group comes first.
const unattachedAge = 15 * time.Second

// maxAge is how old the settings may be, at most drift. While no load balancer is attached that is as long as none has been.
func (s *settings) maxAge(drift time.Duration) time.Duration {
	switch {
	case s.last == nil:
		return 0
	case s.last.LoadBalancers > 0:
		return drift
	}
	return min(max(s.readAt.Sub(s.unattachedAt), unattachedAge), drift)
}

// take takes settings that were read from started on.
func (s *settings) take(read *v1beta1.TargetGroupSettings, started time.Time) {
	if s.last == nil || s.last.LoadBalancers > 0 {
		s.unattachedAt = started
	}
	s.last, s.readAt = read, started
}

// ReadSettings starts a reading of the group's settings if one is due. No pod waits for them, and no reading of health waits
// behind them. Whether a load balancer is attached must be known from after the moment at which an awaited target says that there is
// none.
func (c *Calls) ReadSettings(awaited Targets) time.Duration {
	now := c.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.settings
	wait := s.maxAge(c.DriftInterval) - now.Sub(s.readAt)
	due := wait <= 0
	for _, t := range awaited {
		due = due || t.Health.NotInUse() && s.readAt.Before(t.Since)
	}
	retryIn, began := s.Start(due, now)
	switch {
	case began:
		mayReadDelay := s.delayDenied == nil
		c.start(budget.ClassOther.Now(), func(ctx context.Context, urgency budget.Urgency) {
			started := c.Clock.Now()
			settings, denial, err := c.readSettings(ctx, urgency.Class, mayReadDelay)
			c.settingsDone(started, c.Clock.Now(), settings, denial, err)
		})
	case !due && s.last.LoadBalancers == 0:
		return wait
	}
	return retryIn
}

// readSettings reads how long targets drain, too, nil where we may not: nothing that is done depends on it, and the incumbent's
// guide gives the role of another account no right to it. It does not ask twice.
func (c *Calls) readSettings(ctx context.Context, class budget.Class, mayReadDelay bool) (
	settings *v1beta1.TargetGroupSettings, denial, err error,
) {
	group, err := c.Client.GroupByARN(ctx, class, c.arn)
	if err != nil {
		return nil, nil, err
	}
	settings = settingsOf(group)
	if !mayReadDelay {
		return settings, nil, nil
	}
	delay, err := c.Client.DeregistrationDelay(ctx, class, c.arn)
	switch {
	case awserr.IsPermission(err) && awserr.IsDefinite(err):
		return settings, err, nil
	case err != nil:
		return nil, nil, err
	}
	settings.DeregistrationDelaySeconds = ptr.To(int32(delay.Seconds()))
	return settings, nil, nil
}

// settingsDone takes the settings that were read from started on, nil after a failure.
func (g *Group) settingsDone(started, now time.Time, settings *v1beta1.TargetGroupSettings, denial, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settings.End(now, err)
	if denial != nil {
		g.settings.delayDenied = denial
	}
	if err == nil {
		g.settings.take(settings, started)
	}
}

func settingsOf(tg elbv2.TargetGroup) *v1beta1.TargetGroupSettings {
	return &v1beta1.TargetGroupSettings{
		Protocol:      v1beta1.Protocol(tg.Protocol),
		LoadBalancers: int32(tg.LoadBalancers),
		HealthCheck: v1beta1.HealthCheckSettings{
			IntervalSeconds:  int32(tg.HealthCheck.Interval.Seconds()),
			TimeoutSeconds:   int32(tg.HealthCheck.Timeout.Seconds()),
			HealthyThreshold: int32(tg.HealthCheck.HealthyThreshold), UnhealthyThreshold: int32(tg.HealthCheck.UnhealthyThreshold),
		},
	}
}

// defaultDetection is how long a load balancer may need to notice that a target has become another, while its health check
// settings are not known.
const defaultDetection = 5 * time.Minute

// DetectionTime is how long the load balancer needs to find out that a healthy target has become another, by its health
// check settings; a long time while they are not known.
func DetectionTime(settings *v1beta1.TargetGroupSettings) time.Duration {
	if settings == nil || settings.HealthCheck.UnhealthyThreshold == 0 {
		return defaultDetection
	}
	check := settings.HealthCheck
	return time.Duration(check.UnhealthyThreshold*check.IntervalSeconds+check.TimeoutSeconds) * time.Second
}
