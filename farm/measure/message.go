package measure

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/tritonc/tritonc/driver"
	"github.com/tritonc/tritonc/driver/bench"
	"github.com/tritonc/tritonc/driver/tune"
)

// request is a task.
type request struct {
	// Nonce makes the task another than all others.
	Nonce  string        `json:"nonce"`
	Rounds int           `json:"rounds"`
	Bench  bench.Options `json:"bench"`
	Trials []*launched   `json:"trials"`
}

// launched is a trial in a task.
type launched struct {
	Name   string          `json:"name"`
	Code   content         `json:"code"`
	Meta   driver.Metadata `json:"meta"`
	Object json.RawMessage `json:"object,omitempty"` // driver.Metadata's
	Grid   [3]int          `json:"grid"`
	// Buffers are those that Args name by their places.
	Buffers []memory   `json:"buffers,omitempty"`
	Args    []argument `json:"args"`
}

type memory struct {
	Name    string  `json:"name"`
	Content content `json:"content"`
	// Renew has it filled before each launch.
	Renew bool `json:"renew,omitempty"`
}

// argument is one of a launch. Type says what it is: buffer, map, address, null, or a
// type of Go.
type argument struct {
	Type  string `json:"type"`
	Value string `json:"value,omitempty"` // of a number; of a float its bits
	// Buffer is a place in Buffers, and Offset an address in it.
	Buffer int               `json:"buffer,omitempty"`
	Offset int64             `json:"offset,omitempty"`
	Map    *driver.TensorMap `json:"map,omitempty"` // less its Buffer
}

// Types of arguments that are not numbers.
const (
	isBuffer  = "buffer"
	isMap     = "map"
	isAddress = "address"
	isNull    = "null"
)

// numberOf makes the argument of a number as a device takes it.
func numberOf(v any) (argument, error) {
	switch v := v.(type) {
	case nil:
		return argument{Type: isNull}, nil
	case float32:
		return argument{Type: "float32", Value: strconv.FormatUint(uint64(math.Float32bits(v)), 10)}, nil
	case float64:
		return argument{Type: "float64", Value: strconv.FormatUint(math.Float64bits(v), 10)}, nil
	case bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64:
		return argument{Type: fmt.Sprintf("%T", v), Value: fmt.Sprint(v)}, nil
	}
	return argument{}, fmt.Errorf("an argument of type %T cannot be sent to a device of the farm", v)
}

// number is the reverse.
func (a *argument) number() (any, error) {
	signed := func(bits int) int64 { n, _ := strconv.ParseInt(a.Value, 10, bits); return n }
	unsigned := func(bits int) uint64 { n, _ := strconv.ParseUint(a.Value, 10, bits); return n }
	var v any
	switch a.Type {
	case isNull:
		return nil, nil
	case "bool":
		v = a.Value == "true"
	case "int8":
		v = int8(signed(8))
	case "int16":
		v = int16(signed(16))
	case "int32":
		v = int32(signed(32))
	case "int64":
		v = signed(64)
	case "uint8":
		v = uint8(unsigned(8))
	case "uint16":
		v = uint16(unsigned(16))
	case "uint32":
		v = uint32(unsigned(32))
	case "uint64":
		v = unsigned(64)
	case "float32":
		v = math.Float32frombits(uint32(unsigned(32)))
	case "float64":
		v = math.Float64frombits(unsigned(64))
	default:
		return nil, fmt.Errorf("there is no argument of type %q", a.Type)
	}
	if back, err := numberOf(v); err != nil || back.Value != a.Value {
		return nil, fmt.Errorf("%q is not a value of type %s", a.Value, a.Type)
	}
	return v, nil
}

// Bounds of a task.
const (
	maxTrials = 1 << 16
	maxRounds = 64
	maxBench  = time.Minute
)

// check refuses a task that no client makes. What is left a device may refuse.
func (r *request) check() error {
	switch {
	case len(r.Trials) == 0 || len(r.Trials) > maxTrials || r.Rounds < 1 || r.Rounds > maxRounds:
		return fmt.Errorf("it has %d trials in %d rounds", len(r.Trials), r.Rounds)
	case r.Bench.Warmup < 0 || r.Bench.Warmup > maxBench || r.Bench.Rep < 0 || r.Bench.Rep > maxBench:
		return fmt.Errorf("it measures for %v after %v", r.Bench.Rep, r.Bench.Warmup)
	}
	for _, t := range r.Trials {
		if t == nil {
			return fmt.Errorf("a trial is missing")
		}
		for i := range t.Args {
			a := &t.Args[i]
			reaches := a.Buffer >= 0 && a.Buffer < len(t.Buffers)
			switch a.Type {
			case isBuffer:
			case isMap:
				reaches = reaches && a.Map != nil
			case isAddress:
				reaches = reaches && a.Offset >= 0 && a.Offset <= int64(t.Buffers[a.Buffer].Content.Size)
			default:
				continue
			}
			if !reaches {
				return fmt.Errorf("argument %d is not in a buffer", i)
			}
		}
		for i := range t.Buffers {
			if t.Buffers[i].Content.Size < 0 {
				return fmt.Errorf("buffer %d has a negative size", i)
			}
		}
	}
	return nil
}

// response is a result.
type response struct {
	On string `json:"on"`
	// Missing is a content that is not there: the client sends it again, and asks anew.
	Missing  string    `json:"missing,omitempty"`
	Outcomes []outcome `json:"outcomes"`
}

type outcome struct {
	Times   bench.Times   `json:"times,omitempty"`
	Failure string        `json:"failure,omitempty"`
	Took    time.Duration `json:"took"`
}

// maxTimes is how many times are sent of a trial. Of more as many are chosen that lie
// evenly among them in their order, which keeps the median and the other quantiles.
const maxTimes = 1001

func thin(times bench.Times) bench.Times {
	if len(times) <= maxTimes {
		return times
	}
	sorted := slices.Sorted(slices.Values(times))
	out := make(bench.Times, maxTimes)
	for i := range out {
		out[i] = sorted[i*(len(sorted)-1)/(maxTimes-1)]
	}
	return out
}

// decode reads a result of n trials. The error is a *missingError where a content was not
// there.
func decode(body []byte, n int) ([]tune.Outcome, error) {
	var r response
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, err
	}
	if r.Missing != "" {
		return nil, &missingError{r.Missing}
	}
	if len(r.Outcomes) != n {
		return nil, fmt.Errorf("it is of %d trials, not of %d", len(r.Outcomes), n)
	}
	list := make([]tune.Outcome, n)
	for i, o := range r.Outcomes {
		for _, t := range o.Times {
			if t <= 0 {
				return nil, fmt.Errorf("a time is %v", t)
			}
		}
		if (len(o.Times) == 0) == (o.Failure == "") {
			return nil, fmt.Errorf("trial %d has neither times nor a reason, or both", i)
		}
		list[i] = tune.Outcome{Times: o.Times, Failure: o.Failure, Took: o.Took, On: r.On}
	}
	return list, nil
}
