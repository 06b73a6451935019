/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine: what all vCPUs of the guest share, and what the plugin asks of an architecture: its options, and its vCPUs. There is one, made before
 * there are vCPUs and never destroyed, for QEMU says goodbye when the destructors of plugins have run already. Its blocks of translated code belong to all vCPUs.
 */
#ifndef HWSIM_QEMU_MACHINE_H
#define HWSIM_QEMU_MACHINE_H

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "../base/control.h"
#include "../base/logs.h"
#include "api.h"

namespace hwsim::qemu
{

class Vcpu;

/*
 * What translated blocks do for us beside the instructions that we carry out. They do what any vCPU needs; while nobody traces and nobody counts
 * they are as QEMU makes them.
 */
enum Instrumentation : unsigned { no_instrumentation = 0, flow_instrumentation = 1, count_instrumentation = 2 };

/* Everything made for one block, until QEMU throws its translations away. */
struct Translation {
	virtual ~Translation() = default;
};

class Machine
{
public:
	/* An option of the architecture; false if it is none. Refuses values that it does not know. */
	virtual bool option(std::string_view name, std::string_view value) = 0;
	virtual std::string_view option_names() const = 0;
	/* There are no more options. So many vCPUs there may be. */
	virtual void begin(unsigned cpus) = 0;
	virtual std::unique_ptr<Vcpu> make_vcpu(unsigned index) = 0;
	/* Called with each block that QEMU translates. */
	virtual qemu_tb_trans_cb translator() const = 0;
	virtual Control &control() = 0;
	/* Of the clock by which consider_less() is told the time. */
	virtual std::uint64_t ticks_per_ns() const = 0;
	/* A line about what is no vCPU's, or nothing. */
	virtual std::string statistics() const { return ""; }

	qemu_plugin_id_t id = 0;
	qemu_plugin_scoreboard *score = nullptr; /* of InlineWords */
	unsigned seed = 1;
	Logs::Wanted logs;

	std::vector<std::unique_ptr<Vcpu>> vcpus;
	std::mutex lock; /* for what follows: vCPUs translate at the same time */
	std::vector<std::unique_ptr<Translation>> translations;

	/* What blocks do now; and a call to have them made anew, as all vCPUs need them then. */
	std::atomic<unsigned> instrumentation{no_instrumentation};
	void translate_anew();
	/* Blocks do more than this vCPU needs: perhaps more than any has needed for long. Since when, or 0: */
	std::atomic<std::uint64_t> enough_since{0};
	void consider_less(std::uint64_t now);

protected:
	~Machine() = default;

private:
	unsigned needs_of_all() const;
	static void on_anew(void *);
};

/* The one that there is, from the plugin's first call on. */
extern constinit Machine *machine;
/* That of such a QEMU, made when it is asked for; null if there is none. And which there are, with words between them. */
Machine *find_machine(std::string_view target);
std::string machine_targets(std::string_view between);
/* The vCPU of this thread. */
extern constinit thread_local Vcpu *this_vcpu;

/* Plugin callbacks that do not hang on blocks; forgotten where translations are made anew. */
void register_callbacks();

} // namespace hwsim::qemu

#endif
