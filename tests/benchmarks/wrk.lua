-- Sends ready-made requests one after the other, from the first again after the last, and prints five figures:
-- requests, microseconds, answers from 400 on, other errors, and the 99th percentile in microseconds.
local requests = {}
local sent = 0

function init(args)
  local file = assert(io.open(os.getenv("SERENO_BENCH_REQUESTS"), "rb"))
  local length = file:read(8)
  while length do
    requests[#requests + 1] = file:read(tonumber(length))
    length = file:read(8)
  end
  file:close()
  sent = tonumber(os.getenv("SERENO_BENCH_FIRST"))
end

function request()
  sent = sent % #requests + 1
  return requests[sent]
end

function done(summary, latency, _)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format("figures %d %d %d %d %d\n", summary.requests, summary.duration, errors.status, broken,
    latency:percentile(99)))
end
