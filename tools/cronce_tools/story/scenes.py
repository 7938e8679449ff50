"""The scenes, in the order in which they are played. A new one goes where its time comes."""

from __future__ import annotations

from cronce_tools.story.billing import three_copies_bypassed, three_copies_with_claims
from cronce_tools.story.long_scenes import payment_waits, sleep_over_deploy, three_hours
from cronce_tools.story.run_scenes import always_fails, clocks_go_back, worker_killed
from cronce_tools.story.scene import Scene
from cronce_tools.story.scheduler_scenes import long_outage, paused_scheduler, scheduler_down, two_schedulers

SCENES = (
    Scene("Two schedulers tick at the same time for ten minutes", two_schedulers),
    Scene("The scheduler is down from a minute before a due time until three minutes after", scheduler_down),
    Scene("A paused scheduler wakes up after another one took over", paused_scheduler),
    Scene("A job that always fails", always_fails),
    Scene("A worker is killed after 600 of 1,000 messages", worker_killed),
    Scene("An outage longer than the grace", long_outage),
    Scene("Three copies of the billing job start in the same second, with claims", three_copies_with_claims),
    Scene("The same three copies, claims bypassed", three_copies_bypassed),
    Scene("A night in which the clocks go back", clocks_go_back),
    Scene("A job of three hours, in invocations of 15 minutes", three_hours),
    Scene("A worker is killed within a payment: it waits for a person", payment_waits),
    Scene("A run sleeps, and a new version is deployed meanwhile", sleep_over_deploy),
)
