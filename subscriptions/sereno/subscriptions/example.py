"""The commented example that `sereno init` writes."""

EXAMPLE = """\
# What this machine wakes, when, and within which limits.
# Change it, then run: sereno apply -f sereno.yaml     (again and again: it is idempotent)
# Try it without a server: sereno simulate --subscriptions sereno.yaml --events events.jsonl

apiVersion: sereno/v1
kind: Agent
metadata: {name: support-triage}
spec:
  owner: user:admin                # who answers for it
  adapter: exec                    # exec: `sereno work support-triage --exec COMMAND`; pull: your own worker over HTTP
  description: Reads what comes in and drafts answers.
---
apiVersion: sereno/v1
kind: Endpoint
metadata: {name: github}
spec:
  scheme: github                   # how senders sign; or hmac with header, prefix and encoding
  secrets:                         # where the secret is found, never the secret itself; two while you replace one
    - env:GITHUB_WEBHOOK_SECRET    # or file:/absolute/path
  max_body: 64KiB
---
apiVersion: sereno/v1
kind: Subscription
metadata: {name: new-issues, labels: {team: support}}
spec:
  owner: user:admin                # to whom it is attributed; whoever applies it is recorded besides
  agent: agent:support-triage      # whom it wakes
  instruction: Read the issue, say what kind it is, and draft a first answer.
  source:
    webhook: {endpoint: github}
  filters:                         # all must hold: exact, prefix, suffix, all, any, not, cel
    - prefix: {type: com.github.issues}
    - cel: data.action == "opened" && !(data.issue.title.startsWith("[bot]"))
  limits:
    cooldown: {every: 10m, then: drop}   # at most one wake-up in ten minutes
    expires: 2099-01-01T00:00:00Z        # always with its zone
  delivery: {priority: 5, max_attempts: 5, lease: 60s, max_run: 1h, max_age: 24h}
  mode: ask_each_time              # observe | draft | ask_each_time | auto_low_risk
---
apiVersion: sereno/v1
kind: Subscription
metadata: {name: queue-review, labels: {team: support}}
spec:
  owner: user:admin
  agent: agent:support-triage
  instruction: Look through the open issues and name the three that wait longest.
  source:
    time: {every: 4h}              # or once: {at: 2099-01-01T09:00:00Z}
  misfire: latest                  # what was missed while nothing ran: skip | latest | all
"""
