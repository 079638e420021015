package repository

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gorm.io/gorm"

	"seckill/service"
)

// maxKey bounds an Idempotency-Key, in bytes.
const maxKey = 128

var _ service.IdempotencyStore = (*Store)(nil)

type keyRow struct {
	UserID      int64  `gorm:"primaryKey;autoIncrement:false"`
	RequestKey  string `gorm:"primaryKey"`
	RequestHash string
	OrderID     int64
	Attempt     int
	Status      int
	Body        []byte
	BegunAt     time.Time
}

func (keyRow) TableName() string { return "idempotency_keys" }

func (r keyRow) claim() service.IdempotencyClaim {
	return service.IdempotencyClaim{
		User: r.UserID, Key: r.RequestKey, RequestHash: r.RequestHash, Order: service.ID(r.OrderID),
		Attempt: r.Attempt, Status: r.Status, Body: r.Body, At: r.BegunAt.UTC(),
	}
}

// ClaimKey implements service.IdempotencyStore. ErrInvalid when the key is empty or longer than 128 bytes.
//
//	INSERT INTO idempotency_keys …                              the primary key lets one through
//	SELECT * FROM idempotency_keys WHERE user_id = ? AND request_key = ?
//	UPDATE … SET attempt = ?, begun_at = ? WHERE … AND attempt = ? AND status = 0    only to take over
func (s *Store) ClaimKey(ctx context.Context, c service.IdempotencyClaim, stale time.Time) (service.IdempotencyClaim, bool, error) {
	if c.Key == "" || len(c.Key) > maxKey {
		return service.IdempotencyClaim{}, false, fmt.Errorf("%w: an Idempotency-Key has 1 to %d bytes", service.ErrInvalid, maxKey)
	}
	row := keyRow{UserID: c.User, RequestKey: c.Key, RequestHash: c.RequestHash, OrderID: int64(c.Order),
		Attempt: 1, BegunAt: stamp(c.At)}
	err := s.inGormTx(ctx, func(db *gorm.DB) error { return db.Create(&row).Error })
	if err == nil {
		return row.claim(), true, nil
	}
	if !errors.Is(err, errDuplicate) {
		return service.IdempotencyClaim{}, false, err
	}
	stored, err := s.readKey(ctx, c)
	if errors.Is(err, service.ErrNotFound) { // abandoned in between: the next try finds it free
		return service.IdempotencyClaim{}, false, fmt.Errorf("%w: the key was just given up", service.ErrStoreBusy)
	}
	if err != nil || stored.Status != 0 || !stored.BegunAt.Before(stale) || stored.RequestHash != c.RequestHash {
		return stored.claim(), false, err
	}
	return s.takeOver(ctx, c, stored)
}

func (s *Store) readKey(ctx context.Context, c service.IdempotencyClaim) (keyRow, error) {
	var row keyRow
	err := s.db.WithContext(ctx).Where("user_id = ? AND request_key = ?", c.User, c.Key).Take(&row).Error
	return row, mapErr(ctx, err)
}

// takeOver makes the claim ours, unless another request was faster or the answer has come after all.
func (s *Store) takeOver(ctx context.Context, c service.IdempotencyClaim, stored keyRow) (service.IdempotencyClaim, bool, error) {
	ours := false
	err := s.inGormTx(ctx, func(db *gorm.DB) error {
		result := attempt(db, stored.claim()).
			Updates(map[string]any{"attempt": stored.Attempt + 1, "begun_at": stamp(c.At)})
		ours = result.RowsAffected == 1
		return result.Error
	})
	if err != nil {
		return service.IdempotencyClaim{}, false, err
	}
	if now, err := s.readKey(ctx, c); err != nil || !ours {
		return now.claim(), false, err
	}
	stored.Attempt, stored.BegunAt = stored.Attempt+1, stamp(c.At)
	return stored.claim(), true, nil
}

// attempt addresses the key while this attempt is the latest and has no answer.
func attempt(db *gorm.DB, c service.IdempotencyClaim) *gorm.DB {
	return db.Model(&keyRow{}).Where("user_id = ? AND request_key = ? AND attempt = ? AND status = 0", c.User, c.Key, c.Attempt)
}

// SettleKey implements service.IdempotencyStore.
//
//	UPDATE idempotency_keys SET status = ?, body = ? WHERE … AND attempt = ? AND status = 0
func (s *Store) SettleKey(ctx context.Context, c service.IdempotencyClaim) error {
	if c.Status == 0 {
		return fmt.Errorf("%w: an answer has a status", service.ErrInvalid)
	}
	return s.inGormTx(ctx, func(db *gorm.DB) error {
		return attempt(db, c).Updates(map[string]any{"status": c.Status, "body": c.Body}).Error
	})
}

// AbandonKey implements service.IdempotencyStore.
//
//	DELETE FROM idempotency_keys WHERE … AND attempt = ? AND status = 0
func (s *Store) AbandonKey(ctx context.Context, c service.IdempotencyClaim) error {
	return s.inGormTx(ctx, func(db *gorm.DB) error { return attempt(db, c).Delete(&keyRow{}).Error })
}

// ForgetKeys implements service.IdempotencyStore.
//
//	DELETE FROM idempotency_keys WHERE begun_at < ?
func (s *Store) ForgetKeys(ctx context.Context, before time.Time) (int64, error) {
	var n int64
	err := s.inGormTx(ctx, func(db *gorm.DB) error {
		result := db.Where("begun_at < ?", stamp(before)).Delete(&keyRow{})
		n = result.RowsAffected
		return result.Error
	})
	return n, err
}
