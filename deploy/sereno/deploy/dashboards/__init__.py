"""The Grafana dashboards as code; `deploy/grafana/` holds what is built from it."""
