/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Result: a value, or an Error that a person can act on. Every function of this kit that can fail returns one.
 *
 * Calling value() on a failed Result throws std::runtime_error with the error's text; nothing else in the kit throws, and
 * nothing on the ring path (between enable and disable) allocates unless it fails.
 */
#ifndef AUXPMU_KIT_RESULT_H
#define AUXPMU_KIT_RESULT_H

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace auxpmu
{

/* What went wrong: errno, and one sentence that says what was requested, which limit was hit and what to do. */
struct Error {
	int code = 0;
	std::string text;
};

template <class T>
class [[nodiscard]] Result
{
public:
	Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
	Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

	explicit operator bool() const noexcept { return state.index() == 0; }
	/* Only for a failed Result. */
	const Error &error() const noexcept { return *std::get_if<1>(&state); }

	T &value() &
	{
		check();
		return *std::get_if<0>(&state);
	}
	T value() &&
	{
		check();
		return std::move(*std::get_if<0>(&state));
	}
	/* Only for a Result that holds a value. */
	T &operator*() noexcept { return *std::get_if<0>(&state); }
	T *operator->() noexcept { return std::get_if<0>(&state); }

private:
	void check() const
	{
		if (state.index() != 0)
			throw std::runtime_error(error().text);
	}

	std::variant<T, Error> state;
};

template <>
class [[nodiscard]] Result<void>
{
public:
	Result() = default;
	Result(Error error) : failure(std::move(error)), failed(true) {}

	explicit operator bool() const noexcept { return !failed; }
	const Error &error() const noexcept { return failure; }
	void value() const
	{
		if (failed)
			throw std::runtime_error(failure.text);
	}

private:
	Error failure;
	bool failed = false;
};

} // namespace auxpmu

#endif /* AUXPMU_KIT_RESULT_H */
